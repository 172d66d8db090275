//! The Azure store against a client written by hand, and against `azure_data_tables`, as it comes
//! and tuned, on loopback.
//!
//! `cargo bench -p benches --features wire --bench wire`; the clients alternate, so other load on
//! the machine hits all of them alike. Each ratio is the median of the rounds' ratios.
//! `counted CLIENT WORK TIMES` does one thing so many times, for `instructions.py`.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod by_hand;
mod client;
mod data_tables;
mod finisher;
mod server;

use by_hand::ByHand;
use client::{Client, TableOrm, Work};
use data_tables::DataTables;
use futures_util::future::join_all;
use rustix::time::{ClockId, clock_gettime};
use server::Server;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const ROUNDS: usize = 12;
const IN_FLIGHT: u32 = 16;
const CLIENTS: usize = 4;

/// One measurement of one client.
#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    /// CPU seconds an operation.
    cpu: f64,
    /// Operations a second, one after the other.
    alone: f64,
    /// Operations a second, 16 in flight.
    together: f64,
    /// Bytes an operation, both ways, TLS included.
    bytes: f64,
    /// Connections opened for 1000 operations.
    connections: f64,
}

fn main() {
    if std::env::args().any(|argument| argument == server::ARGUMENT) {
        return server::serve();
    }
    let mut server = Server::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let arguments: Vec<_> = std::env::args().collect();
    if let [_, counted, client, work, times] = &arguments[..]
        && counted == "counted"
    {
        let client: Box<dyn Client> = match &**client {
            "table-orm" => Box::new(TableOrm::new(&server.http, &server)),
            "by hand" => Box::new(ByHand::new(&server.http, &server)),
            client => panic!("{client} is not known"),
        };
        let work = Work::ALL.into_iter().find(|other| other.name() == work).unwrap();
        return runtime.block_on(async {
            for _ in 0..times.parse().unwrap() {
                client.carry_out(work).await;
            }
        });
    }
    println!(
        "| {ROUNDS} rounds | CPU an operation | one by one | 16 in flight | bytes | connections |"
    );
    println!("|---|---|---|---|---|---|");
    for scheme in ["http", "https"] {
        let endpoint = if scheme == "http" { &server.http } else { &server.https }.clone();
        let clients: [Box<dyn Client>; CLIENTS] = [
            Box::new(TableOrm::new(&endpoint, &server)),
            Box::new(ByHand::new(&endpoint, &server)),
            Box::new(DataTables::as_it_comes(&endpoint, &server)),
            Box::new(DataTables::tuned(&endpoint, &server)),
        ];
        for work in Work::ALL {
            let rounds: Vec<[Figures; CLIENTS]> = (0..ROUNDS)
                .map(|round| {
                    let mut figures = [Figures::default(); CLIENTS];
                    for turn in 0..clients.len() {
                        // Backwards every other round, so that what one client leaves in caches and
                        // heap does not always hit the same next client.
                        let turn = if round % 2 == 0 { turn } else { clients.len() - turn };
                        let place = (round + turn) % clients.len();
                        figures[place] = measure(&runtime, &mut server, &*clients[place], work);
                    }
                    figures
                })
                .collect();
            print(scheme, work, &rounds);
        }
    }
}

fn measure(runtime: &Runtime, server: &mut Server, client: &dyn Client, work: Work) -> Figures {
    let count = work.count();
    // Connections that the pool keeps are open when the measurement starts.
    runtime.block_on(in_flight(client, work, 1));
    let (traffic, cpu) = (server.traffic(), cpu_time());
    let start = Instant::now();
    runtime.block_on(async {
        for _ in 0..count {
            client.carry_out(work).await;
        }
    });
    let alone = start.elapsed();
    let start = Instant::now();
    runtime.block_on(in_flight(client, work, count / IN_FLIGHT));
    let together = start.elapsed();
    let (cpu, after) = (cpu_time() - cpu, server.traffic());
    let count = f64::from(count);
    Figures {
        cpu: cpu.as_secs_f64() / (2.0 * count),
        alone: count / alone.as_secs_f64(),
        together: count / together.as_secs_f64(),
        bytes: (after.bytes - traffic.bytes) as f64 / (2.0 * count),
        connections: (after.connections - traffic.connections) as f64 / (2.0 * count) * 1000.0,
    }
}

async fn in_flight(client: &dyn Client, work: Work, each: u32) {
    let worker = || async {
        for _ in 0..each {
            client.carry_out(work).await;
        }
    };
    join_all((0..IN_FLIGHT).map(|_| worker())).await;
}

/// The CPU time of this process, all threads, in user and kernel mode.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

/// Our figure, and its ratio to each other client's, in the order of the clients; the connections
/// of all.
fn print(scheme: &str, work: Work, rounds: &[[Figures; CLIENTS]]) {
    let ours = |value: fn(&Figures) -> f64| median(rounds.iter().map(|round| value(&round[0])));
    let ratios = |value: fn(&Figures) -> f64| {
        let over = |other: usize| {
            median(rounds.iter().map(|round| value(&round[0]) / value(&round[other])))
        };
        format!("{:.2}, {:.2}, {:.2}", over(1), over(2), over(3))
    };
    let connections: [f64; CLIENTS] =
        std::array::from_fn(|client| median(rounds.iter().map(|round| round[client].connections)));
    println!(
        "| {scheme}, {} | {:.0} µs; {} | {:.0}/s; {} | {:.0}/s; {} | {:.0}; {} | {} |",
        work.name(),
        ours(|f| f.cpu) * 1e6,
        ratios(|f| f.cpu),
        ours(|f| f.alone),
        ratios(|f| f.alone),
        ours(|f| f.together),
        ratios(|f| f.together),
        ours(|f| f.bytes),
        ratios(|f| f.bytes),
        connections.map(|count| format!("{count:.0}")).join(", "),
    );
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}
