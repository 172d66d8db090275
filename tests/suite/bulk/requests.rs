//! How many requests a write of many entities takes, by the order of its input.

use super::nowhere;
use table_orm::TableEntity;
use table_orm::repo::OPEN_OPERATIONS;

#[derive(Debug, Clone, TableEntity)]
#[table(name = "telemetry", partition = "{device:05}", row = "{second:06}")]
struct Sample {
    device: u32,
    second: u32,
}

/// Samples in the order of arrival: one of each device, then the next of each.
fn interleaved(samples: u32, devices: u32) -> impl Iterator<Item = Sample> {
    (0..samples).map(move |sample| Sample { device: sample % devices, second: sample / devices })
}

async fn requests(input: impl IntoIterator<Item = Sample, IntoIter: Send>) -> u64 {
    nowhere().insert_many(input).await.all().unwrap().requests
}

/// The same samples, one device after another: they fill each transaction except the last of a
/// device.
async fn fewest(samples: u32, devices: u32) -> u64 {
    let mut input: Vec<_> = interleaved(samples, devices).collect();
    input.sort_by_key(|sample| sample.device);
    requests(input).await
}

#[tokio::test]
async fn input_sorted_by_partition_fills_its_transactions() {
    for (devices, each) in [(1, 200), (64, 4), (70, 3), (100, 2), (500, 1)] {
        assert_eq!(fewest(20_000, devices).await, u64::from(devices * each));
    }
}

#[tokio::test]
async fn interleaved_partitions_that_fill_their_transactions_together_need_no_more_requests() {
    for devices in [64, 70] {
        assert_eq!(requests(interleaved(20_000, devices)).await, fewest(20_000, devices).await);
    }
}

#[tokio::test]
async fn interleaved_partitions_share_what_is_collected() {
    for devices in [100, 500, 6_400] {
        let sent = requests(interleaved(20_000, devices)).await;
        // The fullest partition has at least its share; at the end, each may have a rest.
        let share = (OPEN_OPERATIONS as u32 / devices).min(100);
        let most = 20_000 / share + devices;
        assert!(sent <= u64::from(most), "{devices} partitions: {sent} requests, of {most}");
    }
    // The partition that is sent was mostly collected while others were sent: it has twice the
    // share.
    let sent = requests(interleaved(20_000, 500)).await;
    assert!(sent <= 1_100, "{sent} requests");
}

#[tokio::test]
async fn a_hundred_partitions_need_hardly_more_requests_interleaved_than_sorted() {
    // At first, when all are equally full, some are sent before they are.
    let (few, least) = (requests(interleaved(20_000, 100)).await, fewest(20_000, 100).await);
    assert!(few * 4 <= least * 5, "{few} requests, of {least}");
    let (many, least) = (requests(interleaved(200_000, 100)).await, fewest(200_000, 100).await);
    assert!(many * 100 <= least * 103, "{many} requests, of {least}");
}
