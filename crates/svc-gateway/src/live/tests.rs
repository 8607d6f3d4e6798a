use kernel::Kernel;

use super::*;
use crate::config::GatewayText;

const CONFIG: &str = r#"
listen = ["127.0.0.1:0"]
[tenants.gold]
weight = 3
[upstreams.main]
endpoints = ["http://127.0.0.1:9"]
[[routes]]
name = "api"
upstream = "main"
inflight = 8
"#;

fn text(config: &str) -> GatewayText {
    toml::from_str(config).expect("a good config")
}

#[tokio::test]
async fn what_an_operator_sets_holds_until_the_next_config() {
    let (kernel, _publisher) = Kernel::new();
    let gateway = Gateway::new(&kernel, &text(CONFIG)).expect("a gateway");
    assert_eq!(gateway.overrides(), []);
    let weight = gateway.set_weight("gold", 7).expect("a tenant");
    let limit = gateway.set_gate_limit("api", 2).expect("a gate");
    assert_eq!((weight.configured, weight.now), (3, 7));
    assert_eq!((limit.configured, limit.now), (8, 2));
    assert_eq!(gateway.overrides(), [weight, limit]);
    assert_eq!(gateway.gates()[0].limit, 2);
    let same = gateway.prepare(&text(CONFIG));
    assert_eq!(gateway.overrides().len(), 2, "only made ready");
    same.unwrap_or_else(|error| panic!("{error}"))();
    assert_eq!(gateway.overrides(), []);
    assert_eq!(gateway.gates()[0].limit, 8);
}

#[tokio::test]
async fn only_what_the_config_names_can_be_set() {
    let (kernel, _publisher) = Kernel::new();
    let gateway = Gateway::new(&kernel, &text(CONFIG)).expect("a gateway");
    assert_eq!(gateway.set_weight("nobody", 7), Err(Unknown));
    assert_eq!(gateway.set_gate_limit("nowhere", 7), Err(Unknown));
    assert_eq!(gateway.set_gate_limit("api", 0), Err(Unknown));
}

#[tokio::test]
async fn a_gate_that_a_reload_takes_from_its_route_is_shown_no_more() {
    let (kernel, _publisher) = Kernel::new();
    let gateway = Gateway::new(&kernel, &text(CONFIG)).expect("a gateway");
    assert_eq!(gateway.gates().len(), 1);
    let open = CONFIG.replace("inflight = 8", "");
    let other = gateway.prepare(&text(&open));
    other.unwrap_or_else(|error| panic!("{error}"))();
    assert_eq!(gateway.gates().len(), 0);
}
