//! Processes that register their writes, write, and end at any time.

use super::chaos::Dice;
use super::mortal::Mortal;
use crate::eventual::TableRegister;
use crate::layer::{Layer as _, Retry};
use crate::store::Store;
use crate::{Repo, Result, TableEntity, Tables};
use futures_util::future::join;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often a process that writes starts.
pub(crate) const LIVES: u64 = 3;

/// An entity that processes write.
pub(crate) trait Written: TableEntity + fmt::Debug + 'static {
    /// The longest life of a process.
    const LONGEST_LIFE: Duration;
    /// How probable a long pause before a write is, its longest time, and that of another pause.
    const PAUSES: (f64, Duration, Duration);

    /// One write, drawn by the process.
    async fn write(process: &Process<Self>) -> Result<()>;
}

/// A process from its start to its end.
pub(crate) struct Process<E> {
    pub tables: Tables,
    pub repo: Repo<E>,
    pub register: TableRegister,
    pub dice: Dice,
    network: Arc<Mortal>,
}

impl<E: Written> Process<E> {
    pub async fn start(dice: Dice, network: Arc<dyn Store>) -> Self {
        // Some send again by themselves what was not answered.
        let network = if dice.happens(0.3) {
            Retry::interactive().write_id("WriteId").seed(dice.seed()).around(network).unwrap()
        } else {
            network
        };
        let network = Mortal::new(network);
        let tables = Tables::new(network.clone()).on_virtual_time(dice.seed());
        let repo = tables.repo::<E>();
        let register = repo.register().existing().await.unwrap();
        Self { tables, repo, register, dice, network }
    }

    pub fn end(&self) {
        self.network.end();
    }

    /// Writes until the end, two at a time.
    async fn write_some(&self) {
        let writer = || async {
            loop {
                let (probability, long, short) = E::PAUSES;
                let pause = if self.dice.happens(probability) { long } else { short };
                sleep(self.dice.time(pause)).await;
                let give_up = if self.dice.happens(0.2) { 1 } else { 30 };
                // What fails left nothing, or what is found.
                let _written =
                    self.dice.mortal(0.2, Duration::from_secs(give_up), E::write(self)).await;
            }
        };
        join(writer(), writer()).await;
    }
}

/// Processes that write, one after the other. `network` is what each of them reaches.
pub(crate) async fn write_all<E: Written>(
    seed: u64,
    number: u64,
    network: impl Fn(&Dice) -> Arc<dyn Store>,
) {
    for life in 0..LIVES {
        let dice = Dice::of(seed, 10 * number + life);
        let time = dice.time(E::LONGEST_LIFE);
        let network = network(&dice);
        let process = Process::<E>::start(dice, network).await;
        let _ended = timeout(time, process.write_some()).await;
        process.end();
    }
}

/// Processes that look after what others left, one after the other, with a pause before each.
pub(crate) async fn mend_all<E: Written, T>(
    dice: impl Iterator<Item = Dice>,
    pause: Duration,
    network: impl Fn(&Dice) -> Arc<dyn Store>,
    mend: impl AsyncFn(&Process<E>) -> Result<T>,
) {
    for dice in dice {
        sleep(dice.time(pause)).await;
        let network = network(&dice);
        let process = Process::<E>::start(dice, network).await;
        // What fails is left to the next ones.
        let _mended = process.dice.mortal(0.3, Duration::from_secs(10), mend(&process)).await;
        process.end();
    }
}
