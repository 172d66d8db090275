//! Pages under faults: a row that exists throughout is returned exactly once, in order.

use super::bench::{Bench, for_seeds, insert, operation};
use crate::layer::Faults;
use crate::store::{Action, IfMatch};
use crate::sync::Random;

const ROWS: i64 = 40;

#[test]
fn every_key_is_returned_once_whatever_happens_to_the_pages() {
    for_seeds(0..500, |seed| async move {
        let bench = Bench::new(Faults::mixed(seed).late(0.02), seed).await;
        bench.flaky.disable();
        for row in 0..ROWS {
            bench.write(vec![insert(&format!("R{:04}", row * 2), row)]).await;
        }
        bench.flaky.enable();
        let other = bench.clone();
        let random = Random::seeded(seed);
        let others = tokio::spawn(async move {
            for _ in 0..30 {
                let row_key = format!("R{:04}", 1 + 2 * random.below(40));
                other.write(vec![insert(&row_key, -1)]).await;
                other.write(vec![operation(&row_key, Action::Delete(IfMatch::Any))]).await;
            }
        });
        for _ in 0..5 {
            let Ok(rows) = bench.rows("R").await else { continue };
            assert!(rows.windows(2).all(|pair| pair[0].0 < pair[1].0), "in order: {rows:?}");
            let stable: Vec<_> =
                rows.iter().map(|(_, value)| *value).filter(|&value| value >= 0).collect();
            assert_eq!(stable, (0..ROWS).collect::<Vec<_>>());
        }
        others.await.unwrap();
    });
}
