//! Finds the rate that a partition sustains, on a service that throttles, in memory and on virtual time.

use table_orm::TableEntity;
use table_orm::stress::{SimulatedService, Stress, TargetScope};

#[derive(Debug, TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "{number:09}")]
struct Reading {
    sensor: String,
    #[table(max = 999_999_999)]
    number: u64,
    celsius: f64,
}

// The clock is paused: two minutes of load take a moment.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A quarter of the rate that the service documents.
    let service = SimulatedService::default().per_partition(500).store()?;
    let stress = Stress::new(service).entities(|call| Reading {
        sensor: format!("sensor-{}", call.partition),
        number: call.number,
        celsius: 20.5,
    });
    let stress = stress.partitions(1).most_in_partition(1000).expected_load(3000);
    let report = stress.target("ours", 450, TargetScope::Partition).run().await?;

    for step in &report.phases[0].steps {
        let (sent, took) = (step.offered, step.entities_per_second);
        println!("{sent:4.0}/s sent, {took:4.0} taken: {:?}", step.outcome);
    }
    for verdict in &report.verdicts {
        println!("{verdict}");
    }
    if let Some(shards) = report.shards {
        println!(
            "{} partitions for {}/s, {} with room",
            shards.least, shards.load, shards.with_head_room
        );
    }
    Ok(())
}

// Prints:
//   62/s sent,   62 taken: Kept
//   88/s sent,   88 taken: Kept
//  122/s sent,  122 taken: Kept
//  171/s sent,  171 taken: Kept
//  240/s sent,  240 taken: Kept
//  336/s sent,  336 taken: Kept
//  471/s sent,  470 taken: Kept
//  659/s sent,  549 taken: Throttled
//  659/s sent,  500 taken: Throttled
//  500/s sent,  500 taken: Kept
// Target of 500 entities/s (older documents): met, 500 sustained
// Target of 2,000 entities/s (service, partition): not met, 500 sustained
// Target of 20,000 entities/s (service, account): not tested
// Target of 450 entities/s (ours): met, 500 sustained
// 6 partitions for 3000/s, 8 with room
