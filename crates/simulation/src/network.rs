//! The network: listeners by address, connections that take their time, and what may befall them.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use kernel::net::{Connecting, Listener, Network, Stream};

use crate::pipe::{Cable, End, connection};

/// Connections that wait to be accepted.
const BACKLOG: usize = 1024;
/// Cables are looked through for those that are gone when there are this many more.
const CABLES: usize = 256;

/// How an address can be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reach {
    /// As it should be.
    #[default]
    Well,
    /// Whoever comes is turned away.
    Refused,
    /// Nobody hears anything of those who come, or of those who are there.
    Hole,
}

#[derive(Debug, Default)]
struct Waiting {
    arrived: VecDeque<(End, SocketAddr)>,
    closed: bool,
    acceptor: Option<Waker>,
}

type Queue = Arc<Mutex<Waiting>>;

#[derive(Debug)]
struct State {
    listeners: BTreeMap<SocketAddr, Queue>,
    reach: BTreeMap<SocketAddr, Reach>,
    cables: Vec<(SocketAddr, Cable)>,
    chance: fastrand::Rng,
    next_port: u16,
}

/// The one network of a simulation; clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Net(Arc<Mutex<State>>);

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Net {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            listeners: BTreeMap::new(),
            reach: BTreeMap::new(),
            cables: Vec::new(),
            chance: fastrand::Rng::with_seed(seed),
            next_port: 20_000,
        })))
    }

    /// How `address` can be reached from now on. A hole swallows what is said on the connections there are, too.
    pub(crate) fn set_reach(&self, address: SocketAddr, reach: Reach) {
        let mut state = locked(&self.0);
        state.reach.insert(address, reach);
        if reach == Reach::Hole {
            let there = state.cables.iter().filter(|(to, _)| *to == address);
            there.for_each(|(_, cable)| cable.swallow());
        }
    }

    /// Cuts so much of the connections to `address`; says how many.
    pub(crate) fn cut(&self, address: SocketAddr, part: f64) -> usize {
        let mut state = locked(&self.0);
        let State { cables, chance, .. } = &mut *state;
        let there = cables.iter().filter(|(to, _)| *to == address);
        let doomed = there.filter(|_| chance.f64() < part);
        doomed.map(|(_, cable)| cable.cut()).count()
    }

    /// A connection from `ip` to a listener at `to`.
    pub(crate) async fn dial(&self, ip: Ipv4Addr, to: SocketAddr) -> io::Result<End> {
        let (from, reach, delay) = {
            let mut state = locked(&self.0);
            state.next_port = state.next_port.checked_add(1).unwrap_or(20_000);
            let from = SocketAddr::from((ip, state.next_port));
            let reach = state.reach.get(&to).copied().unwrap_or_default();
            (from, reach, Duration::from_millis(state.chance.u64(0..4)))
        };
        tokio::time::sleep(delay).await;
        match reach {
            Reach::Well => self.arrive(from, to, delay),
            Reach::Refused => Err(io::ErrorKind::ConnectionRefused.into()),
            Reach::Hole => std::future::pending().await,
        }
    }

    fn arrive(&self, from: SocketAddr, to: SocketAddr, delay: Duration) -> io::Result<End> {
        let mut state = locked(&self.0);
        let queue = state.listeners.get(&to).cloned();
        let queue = queue.ok_or(io::ErrorKind::ConnectionRefused)?;
        let mut waiting = locked(&queue);
        if waiting.closed || waiting.arrived.len() >= BACKLOG {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (near, far, cable) = connection(from, to, delay);
        waiting.arrived.push_back((far, from));
        waiting.acceptor.take().into_iter().for_each(Waker::wake);
        if state.cables.len() >= CABLES && state.cables.len().is_power_of_two() {
            state.cables.retain(|(_, cable)| !cable.is_gone());
        }
        state.cables.push((to, cable));
        Ok(near)
    }

    /// Forgets connections that are gone.
    pub(crate) fn tidy(&self) {
        let mut state = locked(&self.0);
        state.cables.retain(|(_, cable)| !cable.is_gone());
        state.cables.shrink_to_fit();
    }

    /// A listener, for who is simulated too.
    pub(crate) fn listen(&self, address: SocketAddr) -> io::Result<Porch> {
        let mut state = locked(&self.0);
        if state.listeners.contains_key(&address) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let queue = Queue::default();
        state.listeners.insert(address, queue.clone());
        Ok(Porch {
            address,
            queue,
            net: self.clone(),
        })
    }
}

impl Network for Net {
    fn bind(&self, address: SocketAddr) -> io::Result<Arc<dyn Listener>> {
        Ok(Arc::new(self.listen(address)?))
    }

    fn connect(&self, address: SocketAddr) -> Connecting {
        let net = self.clone();
        Box::pin(async move {
            let end = net.dial(Ipv4Addr::LOCALHOST, address).await?;
            Ok(Box::new(end) as Box<dyn Stream>)
        })
    }
}

/// A listener. Those who wait when it is dropped are turned away.
#[derive(Debug)]
pub(crate) struct Porch {
    address: SocketAddr,
    queue: Queue,
    net: Net,
}

impl Porch {
    pub(crate) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<(End, SocketAddr)> {
        let mut waiting = locked(&self.queue);
        match waiting.arrived.pop_front() {
            Some(arrived) => Poll::Ready(arrived),
            None => {
                waiting.acceptor = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Listener for Porch {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Box<dyn Stream>, SocketAddr)>> {
        self.poll_next(cx)
            .map(|(end, peer)| Ok((Box::new(end) as Box<dyn Stream>, peer)))
    }
}

impl Drop for Porch {
    fn drop(&mut self) {
        locked(&self.net.0).listeners.remove(&self.address);
        let turned_away = {
            let mut waiting = locked(&self.queue);
            waiting.closed = true;
            std::mem::take(&mut waiting.arrived)
        };
        drop(turned_away);
    }
}
