use crate::subject::Subject;
use std::sync::Arc;
use std::time::Duration;
use table_orm::stress::Stress;

pub async fn runs_alike_on_every_store_and_leaves_nothing(subject: Subject) {
    let tables = subject.store.list_tables().await.unwrap();
    // Rates that any of them keeps, so that the test ends at the highest.
    let stress = Stress::new(Arc::clone(&subject.store))
        .entity_bytes(1024)
        .rows(20)
        .partitions(2)
        .first_rate(20.0)
        .most_in_partition(40)
        .most_in_all(60)
        .step_time(Duration::from_millis(300))
        .hold_time(Duration::from_millis(300))
        .rest(Duration::from_millis(100))
        .most_requests(2_000);
    let bounds = stress.bounds().unwrap();
    let report = stress.run().await.unwrap();
    assert_eq!(report.phases.iter().map(|phase| phase.partitions).collect::<Vec<_>>(), [1, 2]);
    for phase in &report.phases {
        let [first, ..] = &phase.steps[..] else { panic!("{report}") };
        assert!(first.calls > 0 && first.failed == 0, "{report}");
    }
    assert!(report.requests > 0 && report.requests <= bounds.requests, "{report}");
    assert_eq!((report.is_stopped, &report.table_left), (false, &None));
    let left = subject.store.list_tables().await.unwrap();
    assert!(!left.iter().any(|table| table.as_str() == report.table), "{left:?}");
    assert!(tables.contains(&subject.table) && left.contains(&subject.table));
}
