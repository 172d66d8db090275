//! What an outbox reports: its lag by value, on a clock that waits for nobody.

use super::{Order, stamped};
use crate::eventual::tests::chaos::on_virtual_time;
use crate::layer::{Fault, Faults};
use crate::outbox::{DispatchProgress, Event, HandlerError};
use crate::store::ErrorCode;
use crate::{Repo, ScanPermit, TableEntity as _, Tables};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use std::time::Duration;
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);

async fn insert(orders: &Repo<Order>, customer: &str, number: u64) {
    orders.insert(&Order { customer: customer.to_owned(), number, cents: 1 }).await.unwrap();
}

async fn take(_: Event) -> Result<(), HandlerError> {
    Ok(())
}

/// What the recorder of the app has of the outbox, without the prefix of its names.
fn recorded(recorder: &DebuggingRecorder) -> Vec<(String, DebugValue)> {
    let metrics = recorder.snapshotter().snapshot().into_vec().into_iter();
    let mut metrics: Vec<_> = metrics
        .filter_map(|(key, _, _, value)| {
            let name = key.key().name().strip_prefix("table_orm.outbox.")?.to_owned();
            assert!(key.key().labels().any(|label| label.value() == Order::TABLE), "{key:?}");
            Some((name, value))
        })
        .collect();
    metrics.sort_by(|one, other| one.0.cmp(&other.0));
    metrics
}

#[test]
fn the_lag_is_the_time_from_the_write_of_the_oldest_event_to_the_call_that_finds_it() {
    let recorder = DebuggingRecorder::new();
    metrics::with_local_recorder(&recorder, || {
        on_virtual_time(async {
            let orders = Tables::new(stamped().await).on_virtual_time(1).repo::<Order>();
            sleep(3 * SECOND).await;
            insert(&orders, "acme", 1).await;
            sleep(7 * SECOND).await;
            insert(&orders, "acme", 2).await;
            insert(&orders, "init", 1).await;
            sleep(5 * SECOND).await;
            let permit = || ScanPermit::because("test");
            let backlog = orders.outbox().backlog(permit()).await.unwrap();
            assert_eq!((backlog.events, backlog.oldest), (3, Some(12 * SECOND)));
            let DispatchProgress { handed_on, lag, .. } =
                orders.outbox().dispatch(permit(), take).await.all().unwrap();
            assert_eq!((handed_on, lag), (3, Some(12 * SECOND)));
            sleep(SECOND).await;
            let report = orders.outbox().dispatch(permit(), take).await.all().unwrap();
            assert_eq!((report.handed_on, report.lag), (0, None));
        });
    });
    // One value for each partition, in seconds.
    let lags = DebugValue::Histogram(vec![12.0.into(), 5.0.into()]);
    let [(failures, none), (handed_on, count), (lag, values)] = &recorded(&recorder)[..] else {
        panic!("{:?}", recorded(&recorder));
    };
    assert_eq!((&**failures, none), ("failures", &DebugValue::Counter(0)));
    assert_eq!((&**handed_on, count), ("handed_on", &DebugValue::Counter(3)));
    assert_eq!((&**lag, values), ("lag", &lags));
}

#[test]
fn a_partition_that_stays_named_without_events_is_counted_as_a_failure() {
    let recorder = DebuggingRecorder::new();
    metrics::with_local_recorder(&recorder, || {
        on_virtual_time(async {
            let refused = Fault::Rejected(ErrorCode::OUT_OF_RANGE_INPUT);
            let faults = Faults::seeded(1).on("delete", 1, refused);
            let store = faults.store(stamped().await).unwrap();
            let orders = Tables::new(store).on_virtual_time(1).repo::<Order>();
            let register = orders.register().existing().await.unwrap();
            insert(&orders, "acme", 1).await;
            sleep(130 * SECOND).await;
            let report = orders.outbox().dispatch(&register, take).await;
            assert_eq!((report.progress.handed_on, report.failures.len()), (1, 1), "{report:?}");
        });
    });
    let recorded = recorded(&recorder);
    assert_eq!(recorded[0].0, "failures");
    assert_eq!(recorded[0].1, DebugValue::Counter(1));
}
