//! Starts the origin and prints its address; `upstream [PLACES]` limits how much it works on at once.
//!
//! Ask it for what you need: `/any/path?delay_ms=20&bytes=1024&status=503`.

use testkit::upstream::Upstream;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let upstream = Upstream::start().await?;
    upstream.set_journal(0);
    if let Some(places) = std::env::args().nth(1) {
        let places = places
            .parse()
            .map_err(|_| std::io::Error::other("PLACES is not a number"))?;
        upstream.set_places(places);
    }
    println!("{}", upstream.addr());
    std::future::pending().await
}
