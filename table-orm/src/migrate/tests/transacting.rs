//! Clients that write several entities in one transaction.

use super::history::{ENTITIES, NOTHING, lock};
use super::simulation::{AnyLoaded, Client, Wrong, stamp_of};
use super::subjects::Subject;
use super::watch::keys;
use crate::error::{Error, Result};
use crate::migrate::MigratingLoaded;
use crate::migrate::together::{Change, Together, What};
use crate::migrate::transaction_with::{MigratingScope, MigratingTransactionWith};
use std::sync::Mutex;

impl<E: Subject> Client<E> {
    /// The entities of its new partition.
    fn beside(&self, number: u64) -> (String, Vec<u64>) {
        let partition_key = |number| keys::<E>(number).0.partition_key;
        let of = partition_key(number);
        let beside = (0..ENTITIES).filter(|other| partition_key(*other) == of).collect();
        (of, beside)
    }

    /// Changes all entities of a new partition.
    pub(super) async fn transact(&self, number: u64, stamp: &str) -> Wrong {
        let (partition_key, numbers) = self.beside(number);
        let (mut changes, mut stamps, mut deleted) = (Vec::new(), Vec::new(), Vec::new());
        for number in numbers {
            let since = lock(&self.history).mark(number);
            let stamp = format!("{stamp}.{number}");
            let held = |what, held: MigratingLoaded<E>| Change::Held(what, Box::new(held));
            changes.push(match self.load(number, since).await? {
                Some(AnyLoaded::Any(mut loaded)) => match self.dice.below(5) {
                    0 => {
                        lock(&self.history).begin_delete(&stamp_of(&mut *loaded));
                        deleted.push((number, since));
                        held(What::Delete, loaded)
                    }
                    1 if self.merges => held(What::Require, loaded),
                    _ => {
                        if self.stamped(&mut *loaded, &stamp).await.is_err() {
                            return Ok(());
                        }
                        stamps.push(stamp);
                        held(What::Save, loaded)
                    }
                },
                // An insert that a layer sends twice may take effect twice: the layer says so.
                _ if self.retries => return Ok(()),
                _ => {
                    let mut entity = E::of(number, &stamp, NOTHING);
                    if entity.upload(&self.migrating, self.version).await.is_err() {
                        return Ok(());
                    }
                    stamps.push(stamp);
                    Change::Insert(Box::new(entity))
                }
            });
        }
        lock(&self.history).begin_together(&stamps);
        let client = self.migrating.clone();
        let committed = Together { client, partition_key, changes }.commit().await;
        for (number, since) in deleted {
            if committed.is_ok() && !lock(&self.history).was(number, since, Option::is_none) {
                return Err(format!("the delete of entity {number} was acknowledged"));
            }
        }
        self.told_together(&stamps, committed)
    }

    /// Changes one entity of a new partition if the others are as they were read.
    pub(super) async fn transact_with(&self, number: u64, stamp: &str) -> Wrong {
        let (partition_key, numbers) = self.beside(number);
        // The stamps of all attempts, and that of the last one if it writes.
        let tried = Mutex::new((Vec::<String>::new(), None));
        let function = async |scope: MigratingScope<E>| {
            let mut others = Vec::new();
            let attempt = {
                let (all, last) = &mut *tried.lock().unwrap();
                *last = None;
                all.len()
            };
            for other in &numbers {
                let key = keys::<E>(*other).0;
                let since = lock(&self.history).mark(*other);
                let held = scope.load_at(key).await?;
                let read = held.as_ref().map(|held| stamp_of(&mut (**held).clone()));
                self.saw(*other, read.clone(), since).map_err(Told::Wrong)?;
                if *other != number {
                    others.extend(read.map(|read| (*other, read)));
                    continue;
                }
                let stamp = format!("{stamp}.{attempt}");
                match held {
                    Some(mut held) => {
                        self.stamped(&mut *held, &stamp).await?;
                        scope.save(held);
                    }
                    None if self.retries => return Ok(()),
                    None => {
                        let mut entity = E::of(number, &stamp, NOTHING);
                        entity.upload(&self.migrating, self.version).await?;
                        scope.insert(&entity);
                    }
                }
                let (all, last) = &mut *tried.lock().unwrap();
                all.push(stamp.clone());
                *last = Some(stamp);
            }
            if let (_, Some(stamp)) = &*tried.lock().unwrap() {
                lock(&self.history).begin_over(stamp, others);
            }
            Ok(())
        };
        let done = MigratingTransactionWith::of(&self.migrating, Ok(partition_key), function).await;
        let (tried, last) = tried.into_inner().unwrap();
        let lost = tried.iter().filter(|stamp| Some(*stamp) != last.as_ref());
        lost.for_each(|stamp| lock(&self.history).refuse(stamp));
        match (done, last) {
            (Err(Told::Wrong(wrong)), _) => Err(wrong),
            (Err(Told::Error(error)), Some(last)) => self.check_answer(&last, Err(error)),
            (Ok(()), Some(last)) => self.check_answer(&last, Ok(())),
            (_, None) => Ok(()),
        }
    }

    /// Checks the answer to a transaction.
    fn told_together(&self, stamps: &[String], answer: Result<()>) -> Wrong {
        let is_unknown = answer.as_ref().is_err_and(|error| self.is_unknown(error));
        let answer = answer.map_err(|error| error.to_string());
        let mut history = lock(&self.history);
        for stamp in stamps.iter().filter(|_| !is_unknown) {
            match &answer {
                Ok(()) if !history.has_applied(stamp) => {
                    return Err(format!("{stamp} was acknowledged, and has not taken effect"));
                }
                Err(error) if history.has_applied(stamp) => {
                    return Err(format!("{stamp} was told `{error}`, and has taken effect"));
                }
                Ok(()) => {}
                Err(_) => history.refuse(stamp),
            }
        }
        Ok(())
    }
}

/// What a function of a transaction was told.
enum Told {
    Error(Error),
    Wrong(String),
}

impl From<Error> for Told {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}
