use super::*;
use kernel::Kernel;
use kernel::blocking::Blocking;
use kernel::drain::{Outcome, Phase, Plan};
use kernel::readiness::State as Readiness;
use kernel::supervisor::Supervisor;
use kernel::tree::{Child, ChildSpec, Restart};
use testkit::upstream::{Fault, Reply as Answer, Upstream};
use tokio::task::JoinHandle;

use crate::{Balance, NoEndpoint, PoolSpec, State, Tried};

static CHILD: ChildSpec = ChildSpec {
    name: "pool",
    doc: "",
    depends_on: &[],
    phase: Phase::Support,
    restart: Restart::Always,
    essential: false,
};

struct Alive {
    kernel: Kernel,
    pool: Arc<Pool>,
    supervisor: JoinHandle<Outcome>,
}

impl Alive {
    fn start(spec: PoolSpec) -> Self {
        let (kernel, publisher) = Kernel::new();
        let blocking = Blocking::new(&kernel.registry);
        let pool = Pool::new(spec, &kernel.registry, blocking);
        let child = {
            let pool = pool.clone();
            Child::new(&CHILD, move |context| pool.clone().run(context))
        };
        let supervisor = Supervisor::new(kernel.clone(), publisher, vec![child]).unwrap();
        let plan = || Plan {
            accept_grace: Duration::ZERO,
            deadline: Duration::from_secs(3),
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "the supervisor is the root of its own tree"
        )]
        let supervisor = tokio::spawn(supervisor.run(plan));
        Self {
            kernel,
            pool,
            supervisor,
        }
    }

    async fn until(&self, what: impl Fn(&Self) -> bool) {
        let looked = async {
            while !what(self) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let came = tokio::time::timeout(Duration::from_secs(10), looked).await;
        came.expect("it comes to that within ten seconds");
    }

    fn readiness(&self) -> Readiness {
        self.kernel.readiness.of("pool")
    }

    fn states(&self) -> Vec<State> {
        let endpoints = self.pool.view().endpoints;
        endpoints.iter().map(|one| one.state).collect()
    }

    fn refusal(&self) -> Option<NoEndpoint> {
        let picked = self.pool.pick(clock::now(), None, &Tried::default());
        picked.map(drop).err()
    }

    async fn end(self) {
        self.kernel.requests.request();
        self.supervisor.await.unwrap();
        assert_eq!(self.pool.tasks.live(), 0);
    }
}

fn of(url: &str) -> PoolSpec {
    PoolSpec::new("test", vec![EndpointSpec::parse(url).unwrap()])
}

fn at(origin: &Upstream) -> EndpointSpec {
    EndpointSpec::parse(&format!("http://{}", origin.addr())).unwrap()
}

fn asked() -> Option<Health> {
    Some(Health {
        path: "/healthz".into(),
        every: Duration::from_millis(20),
        timeout: Duration::from_millis(100),
        healthy_after: 2,
        unhealthy_after: 2,
    })
}

// req: GW-11
// attack: K-18
#[tokio::test]
async fn a_name_that_does_not_exist_is_told_and_a_later_one_is_found() {
    let origin = Upstream::start().await.unwrap();
    let alive = Alive::start(of("http://nobody.invalid:80"));
    alive
        .until(|alive| alive.readiness() == Readiness::Degraded)
        .await;
    assert_eq!(alive.refusal(), Some(NoEndpoint::NoneResolved));
    let port = origin.addr().port();
    alive.pool.update(of(&format!("http://localhost:{port}")));
    alive
        .until(|alive| alive.readiness() == Readiness::Ready)
        .await;
    assert_eq!(alive.refusal(), None);
    alive.end().await;
}

// req: GW-11
#[tokio::test]
async fn a_name_that_can_no_longer_be_resolved_keeps_its_addresses() {
    let spec = PoolSpec {
        dns_every: Duration::from_millis(10),
        ..of("http://nobody.invalid:80")
    };
    let alive = Alive::start(spec);
    let name = EndpointSpec::parse("http://nobody.invalid:80").unwrap();
    let before = vec!["127.0.0.1:80".parse().unwrap()];
    alive.pool.set_addresses(&name, before);
    let failed = &alive.pool.common.meters.resolve_failed;
    let seen = failed.get();
    alive.until(|_| failed.get() >= seen + 3).await;
    assert_eq!(alive.states(), [State::Up]);
    alive.end().await;
}

// req: GW-11
#[tokio::test]
async fn an_address_that_goes_from_its_name_goes_from_the_pool_and_a_new_one_comes() {
    let alive = Alive::start(of("http://nobody.invalid:80"));
    let name = EndpointSpec::parse("http://nobody.invalid:80").unwrap();
    let set = |addresses: &[&str]| {
        let addresses = addresses.iter().map(|one| one.parse().unwrap());
        alive.pool.set_addresses(&name, addresses.collect());
        let endpoints = alive.pool.view().endpoints;
        let addresses = endpoints.into_iter().map(|one| one.address);
        addresses.collect::<Vec<_>>()
    };
    assert_eq!(set(&["10.0.0.1:80"]), ["10.0.0.1:80"]);
    let both = set(&["10.0.0.1:80", "10.0.0.2:80"]);
    assert_eq!(both, ["10.0.0.1:80", "10.0.0.2:80"]);
    assert_eq!(alive.states(), [State::Up, State::Ramping]);
    assert_eq!(set(&["10.0.0.2:80"]), ["10.0.0.2:80"]);
    alive.end().await;
}

// req: GW-11
#[tokio::test]
async fn health_takes_an_endpoint_out_and_brings_it_back_with_a_small_share() {
    let (well, ill) = (
        Upstream::start().await.unwrap(),
        Upstream::start().await.unwrap(),
    );
    ill.set("/healthz", Answer::status(500));
    let alive = Alive::start(PoolSpec {
        health: asked(),
        balance: Balance::RoundRobin,
        ..PoolSpec::new("test", vec![at(&well), at(&ill)])
    });
    assert_eq!(alive.refusal(), Some(NoEndpoint::NoneHealthy));
    alive
        .until(|alive| alive.readiness() == Readiness::Ready)
        .await;
    let down_second = |alive: &Alive| alive.states()[1] == State::Down;
    assert!(down_second(&alive) && alive.states()[0] != State::Down);
    ill.clear("/healthz");
    alive.until(|alive| !down_second(alive)).await;
    assert_eq!(alive.states()[1], State::Ramping);
    ill.set("/healthz", Fault::Silence);
    alive.until(down_second).await;
    alive.end().await;
}

// req: GW-11
#[tokio::test]
async fn when_all_are_ill_that_is_told_and_nothing_is_sent() {
    let origin = Upstream::start().await.unwrap();
    origin.set("/healthz", Fault::Reset);
    let alive = Alive::start(PoolSpec {
        health: asked(),
        ..PoolSpec::new("test", vec![at(&origin)])
    });
    alive
        .until(|alive| alive.readiness() == Readiness::Degraded)
        .await;
    assert_eq!(alive.refusal(), Some(NoEndpoint::NoneHealthy));
    origin.clear("/healthz");
    alive
        .until(|alive| alive.readiness() == Readiness::Ready)
        .await;
    assert_eq!(alive.refusal(), None);
    alive.end().await;
}
