use super::*;
use crate::Allow;
use kernel::metrics::Registry;

fn settings(allow: Allow) -> PoolSpec {
    PoolSpec {
        allow,
        ..PoolSpec::new("names", Vec::new())
    }
}

async fn look_up(url: &str, allow: Allow) -> Option<Vec<SocketAddr>> {
    let registry = Registry::default();
    let endpoint = EndpointSpec::parse(url).unwrap();
    let (blocking, meters) = (Blocking::new(&registry), Meters::new(&registry));
    resolve(&endpoint, &settings(allow), &blocking, &meters).await
}

// attack: F-15, F-16
#[tokio::test]
async fn a_name_of_an_inner_address_is_nobodys_where_only_public_ones_may_be_dialled() {
    let inner = Allow::PublicOnly {
        exceptions: [].into(),
    };
    assert_eq!(look_up("http://localhost:80", inner).await, None);
    let found = look_up("http://localhost:80", Allow::Anything).await;
    assert!(found.unwrap().iter().all(|one| one.ip().is_loopback()));
}

// attack: K-18
#[tokio::test]
async fn a_name_that_does_not_exist_is_no_crash() {
    let nobody = look_up("http://does-not-exist.invalid:80", Allow::Anything).await;
    assert_eq!(nobody, None);
}

#[test]
fn addresses_come_in_one_order_and_once() {
    let found: Vec<SocketAddr> = ["10.0.0.2:1", "[::2]:1", "10.0.0.1:1", "10.0.0.2:1"]
        .map(|one| one.parse().unwrap())
        .to_vec();
    let mut turned = found.clone();
    turned.reverse();
    let settings = settings(Allow::Anything);
    let kept = permitted(found, &settings);
    assert_eq!(kept.len(), 3);
    assert_eq!(permitted(turned, &settings), kept);
}
