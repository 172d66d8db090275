//! Clients of the versions 0, 1 and 2, and movers. The observer checks the invariants after each write that took effect;
//! each client checks its answers. Then one mover alone leaves nothing of the old form, and clients of version 3, which
//! knows the new form only, work beside those of version 2.

use super::history::{ENTITIES, History, NOTHING, lock};
use super::subjects::{Subject, permit};
use super::tampering::{LeftOut, Tampering};
use super::watch::{Watch, keys};
use crate::Tables;
use crate::embedded::EmbeddedStore;
use crate::entity::{Loaded, has_across};
use crate::error::{Error, Result};
use crate::eventual::tests::chaos::{Dice, LATEST, Observer, at_once, network, on_virtual_time};
use crate::layer::{FaultStore, Faults, Layer as _, Retry};
use crate::migrate::located::Located;
use crate::migrate::migrating::Migrating;
use crate::migrate::{ManyFailure, MigratingLoaded, StoredForm};
use crate::model::TableName;
use crate::plan::CanonicalKey;
use crate::query::{KeyRange, Span};
use crate::repo::CanonicalPages;
use crate::store::Store;
use futures_util::future::join3;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::sleep;

const FAULTS: f64 = 0.06;
const DEATHS: f64 = 0.2;
/// The longest time that a client works on one call before it ends.
const LONGEST_LIFE: Duration = Duration::from_secs(3);

/// Runs one simulation. Returns the writes that took effect, or the violation of an invariant.
pub(super) fn simulate<E: Subject + Debug>(
    seed: u64,
    left_out: Option<LeftOut>,
) -> Result<usize, String> {
    on_virtual_time(run::<E>(seed, left_out))
}

async fn run<E: Subject + Debug>(seed: u64, left_out: Option<LeftOut>) -> Result<usize, String> {
    let memory = EmbeddedStore::in_memory().unwrap();
    for table in E::TABLES {
        memory.create_table(&TableName::new(table).unwrap()).await.unwrap();
    }
    let history = Arc::default();
    let observer = Observer::of(Watch::<E>::of(Arc::clone(&history)), Arc::new(memory));
    let short_pages = Faults::seeded(seed).short_pages(0.5).store(observer.clone()).unwrap();
    let short_pages: Arc<dyn Store> = Arc::new(short_pages);
    let wrong = Mutex::new(None);
    let phase = async |seed, first: u64, versions: &[u64], calls| {
        let network = network(seed, FAULTS, FAULTS, Arc::clone(&short_pages));
        // Lists need parcels, too.
        let of_client = left_out.filter(|part| *part != LeftOut::ParcelOfValue);
        let client = |number, version| {
            Client::<E>::start(seed, number, version, &network, &history, of_client)
        };
        // No two clients of a run have one number.
        let clients = versions.iter().zip(first..);
        let clients =
            clients.map(|(version, number)| client(number, *version).calls(&wrong, calls));
        // Movers from a time on.
        let movers = (6..8).map(|number| client(number, 2).moves());
        // They are faster than others, so that a whole sweep may come between two requests of a mover.
        let quick = Faults::seeded(seed).slow(1.0).slowest(LATEST / 1_000);
        let quick = quick.store(Arc::clone(&short_pages)).unwrap();
        let sweepers = (20..22)
            .filter(|_| E::HAS_UPLOADS)
            .map(|number| Client::<E>::start(seed, number, 1, &quick, &history, left_out).sweeps());
        join3(at_once(clients), at_once(movers), at_once(sweepers)).await;
        // What is still on its way arrives.
        sleep(LATEST).await;
        network.disable();
        observer.result()?;
        wrong.lock().unwrap().take().map_or(Ok(()), Err)?;
        let last = client(9, 2);
        last.completes().await.map_err(|error| error.to_string())??;
        Ok::<_, String>(last)
    };
    let mut last = phase(seed, 0, &[0, 1, 2, 0, 1, 2], E::CALLS).await?;
    // Such runs are long.
    if left_out.is_none() && seed.is_multiple_of(3) {
        last = phase(seed + 1_000_000, 10, &[2, 3, 2, 3], E::CALLS / 2).await?;
    }
    last.ends().await.map_err(|error| error.to_string())??;
    E::check_settled(&observer.snapshot().await)?;
    observer.result()
}

/// A client of a version.
pub(super) struct Client<E: Subject> {
    pub migrating: Migrating<E>,
    pub version: u64,
    number: u64,
    /// Whether a layer sends again what was not answered.
    pub retries: bool,
    /// Whether it merges: a merge without a write id would keep that of a client that retries.
    pub merges: bool,
    pub dice: Dice,
    pub history: Arc<Mutex<History>>,
}

pub(super) type Wrong = std::result::Result<(), String>;

impl<E: Subject> Client<E> {
    fn start(
        seed: u64,
        number: u64,
        version: u64,
        network: &FaultStore,
        history: &Arc<Mutex<History>>,
        left_out: Option<LeftOut>,
    ) -> Self {
        let dice = Dice::of(seed, number);
        let store = Tampering::around(Arc::new(network.clone()), left_out, E::OPERATIONS);
        // In half of the runs, some send again by themselves what was not answered.
        let some_retry = Dice::of(seed, 1_000).happens(0.5);
        let retries = some_retry && dice.happens(0.5);
        let store: Arc<dyn Store> = if retries {
            Retry::interactive().write_id("WriteId").seed(dice.seed()).around(store).unwrap()
        } else {
            store
        };
        let form = if version >= 2 { StoredForm::New } else { StoredForm::Old };
        let tables = Tables::new(store).on_virtual_time(dice.seed());
        let mut migrating = tables.migrating::<E>().unwrap().inserting(form);
        // They know one form.
        if version == 0 {
            migrating.old.client.after_move = None;
            migrating.old.client.other_form = None;
        }
        if version == 3 {
            migrating.new.client.other_form = None;
        }
        if left_out == Some(LeftOut::FollowFirst) {
            migrating.new.client.after_move = Some(|_, _| Box::pin(async { Ok(()) }));
            migrating.old.client.after_move = migrating.new.client.after_move;
        }
        let merges = retries || !some_retry;
        let history = Arc::clone(history);
        Self { migrating, version, number, retries, merges, dice, history }
    }

    async fn calls(self, wrong: &Mutex<Option<String>>, calls: u64) {
        for call in 0..calls {
            sleep(self.dice.time(Duration::from_secs(3))).await;
            let stamp = format!("{}.{call}", self.number);
            let called = self.dice.mortal(DEATHS, LONGEST_LIFE, self.call(&stamp)).await;
            if let Some(Err(untrue)) = called {
                wrong.lock().unwrap().get_or_insert(format!("version {}: {untrue}", self.version));
            }
        }
    }

    async fn moves(self) {
        sleep(self.dice.time(Duration::from_secs(8))).await;
        for _ in 0..4 {
            sleep(self.dice.time(Duration::from_secs(4))).await;
            // Some move the only partition, in bulk.
            let mover = match self.number {
                6 => self.migrating.migrate(&permit()),
                _ => E::bulk_mover(&self.migrating),
            };
            let work = async { mover.await.all() };
            // What fails is left to the next ones.
            let _moved = self.dice.mortal(DEATHS, 2 * LONGEST_LIFE, work).await;
            if !E::EVENTUAL.is_empty() || has_across::<E>() {
                let settle = self.migrating.settle(&permit()).grace(Duration::ZERO);
                let work = async { settle.await.all() };
                let _settled = self.dice.mortal(DEATHS, 2 * LONGEST_LIFE, work).await;
            }
        }
    }

    /// Removes what was uploaded and is not needed.
    async fn sweeps(self) {
        for _ in 0..30 {
            sleep(self.dice.time(Duration::from_secs(2))).await;
            let _swept = self.dice.mortal(DEATHS, LONGEST_LIFE, E::sweep(&self.migrating)).await;
        }
    }

    async fn call(&self, stamp: &str) -> Wrong {
        let number = self.dice.below(ENTITIES);
        let since = lock(&self.history).mark(number);
        let knows_one_form = matches!(self.version, 0 | 3);
        let calls = if knows_one_form { 6 } else { 20 } + if E::EXPIRES.is_some() { 3 } else { 0 };
        let lists = if E::EVENTUAL.is_empty() || knows_one_form { 0 } else { 4 };
        match self.dice.below(calls + lists) {
            call if call >= calls => self.list_followers(call % 2 == 0).await,
            // An insert that a layer sends twice may take effect twice: the layer says so.
            0..2 if !self.retries => self.insert(number, stamp, since).await,
            0..5 => self.save(number, stamp, since).await,
            5 => self.delete(number, since).await,
            call if call >= calls - 3 && E::EXPIRES.is_some() => self.expire(number, since).await,
            6..8 => self.get(number, since).await,
            8..10 => self.list(false).await,
            10 => self.list(true).await,
            11..13 | 15 | 18..20 if !self.merges => self.save(number, stamp, since).await,
            11..13 if !self.retries => self.merge(number, stamp, since).await,
            13 if !self.retries => self.insert_many(stamp).await,
            14 => self.delete_many().await,
            15 if !self.retries => self.merge_if_match(number, stamp, since).await,
            16..18 => self.transact(number, stamp).await,
            18..20 => self.transact_with(number, stamp).await,
            _ => Ok(()),
        }
    }

    async fn insert(&self, number: u64, stamp: &str, since: usize) -> Wrong {
        let mut entity = E::of(number, stamp, NOTHING);
        if entity.upload(&self.migrating, self.version).await.is_err() {
            return Ok(());
        }
        let inserted = match self.version {
            0 => self.migrating.old.insert(&E::Old::from(entity)).await.map(drop),
            3 => self.migrating.new.insert(&entity).await.map(drop),
            _ => self.migrating.insert(&entity).await,
        };
        // Another entity may have one of its index rows.
        if let (Err(Error::AlreadyExists(rejection)), 1..) = (&inserted, self.version)
            && rejection.index_row.is_none()
            && !lock(&self.history).was(number, since, Option::is_some)
        {
            return Err(format!("{stamp} was told `AlreadyExists`, and nothing was there"));
        }
        self.check_answer(stamp, inserted)
    }

    async fn save(&self, number: u64, stamp: &str, since: usize) -> Wrong {
        let Some(loaded) = self.load(number, since).await? else { return Ok(()) };
        let saved = match loaded {
            AnyLoaded::Old(mut loaded) => {
                let mut entity = E::from(convert::<E>(&loaded));
                if self.stamped(&mut entity, stamp).await.is_err() {
                    return Ok(());
                }
                *loaded = E::Old::from(entity);
                self.migrating.old.save(loaded).await.map(drop)
            }
            AnyLoaded::New(mut loaded) => {
                if self.stamped(&mut *loaded, stamp).await.is_err() {
                    return Ok(());
                }
                self.migrating.new.save(loaded).await.map(drop)
            }
            AnyLoaded::Any(mut held) => {
                if self.stamped(&mut *held, stamp).await.is_err() {
                    return Ok(());
                }
                self.migrating.save(&mut held).await
            }
        };
        self.check_answer(stamp, saved)
    }

    /// Saves an entity that has expired then.
    async fn expire(&self, number: u64, since: usize) -> Wrong {
        let Some(loaded) = self.load(number, since).await? else { return Ok(()) };
        let saved = match loaded {
            AnyLoaded::Old(mut loaded) => {
                let mut entity = E::from(convert::<E>(&loaded));
                lock(&self.history).begin_delete(&stamp_of(&mut entity));
                entity.expire();
                *loaded = E::Old::from(entity);
                self.migrating.old.save(loaded).await.map(drop)
            }
            AnyLoaded::New(mut loaded) => {
                lock(&self.history).begin_delete(&stamp_of(&mut *loaded));
                loaded.expire();
                self.migrating.new.save(loaded).await.map(drop)
            }
            AnyLoaded::Any(mut held) => {
                lock(&self.history).begin_delete(&stamp_of(&mut *held));
                held.expire();
                self.migrating.save(&mut held).await
            }
        };
        match saved {
            Ok(()) if !lock(&self.history).was(number, since, Option::is_none) => {
                Err(format!("entity {number} was to expire, and has not"))
            }
            _ => Ok(()),
        }
    }

    async fn insert_many(&self, stamp: &str) -> Wrong {
        let stamp_of_number = |number| format!("{stamp}.{number}");
        let mut all: Vec<_> =
            (0..ENTITIES).map(|number| E::of(number, &stamp_of_number(number), NOTHING)).collect();
        for entity in &mut all {
            if entity.upload(&self.migrating, self.version).await.is_err() {
                return Ok(());
            }
        }
        let report = self.migrating.insert_many(all).await;
        let mut left: BTreeSet<_> = (0..ENTITIES).map(stamp_of_number).collect();
        for ManyFailure { mut entities, error, .. } in report.failures {
            let is_lost = error.is_unanswered();
            let mut error = Some(error);
            for entity in &mut entities {
                let stamp = stamp_of(entity);
                left.remove(&stamp);
                match error.take() {
                    Some(error) => self.check_answer(&stamp, Err(error))?,
                    None if is_lost => {}
                    None => return Err(format!("{stamp} was told the error of another")),
                }
            }
        }
        left.iter().try_for_each(|stamp| self.check_answer(stamp, Ok(())))
    }

    async fn delete_many(&self) -> Wrong {
        let (mut all, mut since) = (Vec::new(), Vec::new());
        for number in 0..ENTITIES {
            since.push(lock(&self.history).mark(number));
            if let Some(AnyLoaded::Any(mut held)) =
                self.load(number, since[number as usize]).await?
            {
                let stamp = stamp_of(&mut *held);
                lock(&self.history).begin_delete(&stamp);
                all.push(held);
            }
        }
        let mut left: BTreeSet<_> = all.iter().map(|held| held.number()).collect();
        for failure in self.migrating.delete_many(all).await.failures {
            for held in failure.entities {
                left.remove(&held.number());
            }
        }
        let is_there = |number: &u64| {
            !lock(&self.history).was(*number, since[*number as usize], Option::is_none)
        };
        match left.iter().find(|number| is_there(number)) {
            Some(number) => Err(format!("the delete of entity {number} was acknowledged")),
            None => Ok(()),
        }
    }

    async fn merge(&self, number: u64, stamp: &str, since: usize) -> Wrong {
        lock(&self.history).begin_blind(stamp);
        let CanonicalKey { partition_key, row_key } = keys::<E>(number).0;
        let keys = KeyRange { partition: Span::Exact(partition_key), row: Span::Exact(row_key) };
        let merged = self.migrating.merge_at(Ok(keys), E::patch(stamp)).await;
        if let Err(Error::NotFound(_)) = merged
            && !lock(&self.history).was(number, since, Option::is_none)
        {
            return Err(format!("{stamp} was told `NotFound`, and the entity was there"));
        }
        self.check_answer(stamp, merged)
    }

    async fn merge_if_match(&self, number: u64, stamp: &str, since: usize) -> Wrong {
        let Some(AnyLoaded::Any(mut held)) = self.load(number, since).await? else { return Ok(()) };
        let Some(etag) = held.etag().cloned() else { return Ok(()) };
        lock(&self.history).begin_blind_over(stamp, &stamp_of(&mut *held));
        let CanonicalKey { partition_key, row_key } = keys::<E>(number).0;
        let keys = KeyRange { partition: Span::Exact(partition_key), row: Span::Exact(row_key) };
        let merge = self.migrating.merge_at(Ok(keys), E::patch(stamp)).or_insert();
        let merged = merge.if_match(&etag).await;
        self.check_answer(stamp, merged)
    }

    async fn delete(&self, number: u64, since: usize) -> Wrong {
        let Some(loaded) = self.load(number, since).await? else { return Ok(()) };
        let (stamp, deleted) = match loaded {
            AnyLoaded::Old(loaded) => {
                let stamp = stamp_of(&mut E::from(convert::<E>(&loaded)));
                lock(&self.history).begin_delete(&stamp);
                (stamp, self.migrating.old.delete(loaded).await)
            }
            AnyLoaded::New(mut loaded) => {
                let stamp = stamp_of(&mut *loaded);
                lock(&self.history).begin_delete(&stamp);
                (stamp, self.migrating.new.delete(loaded).await)
            }
            AnyLoaded::Any(mut held) => {
                let stamp = stamp_of(&mut *held);
                lock(&self.history).begin_delete(&stamp);
                (stamp, self.migrating.delete(held).await)
            }
        };
        let is_gone = lock(&self.history).was(number, since, Option::is_none);
        match deleted {
            Ok(()) if !is_gone => {
                Err(format!("the delete of {stamp} was acknowledged, and it was there"))
            }
            _ => Ok(()),
        }
    }

    /// Loads an entity, and checks the answer.
    pub(super) async fn load(
        &self,
        number: u64,
        since: usize,
    ) -> std::result::Result<Option<AnyLoaded<E>>, String> {
        let (new, old) = keys::<E>(number);
        let loaded = match self.version {
            0 => match self.migrating.old.client.load_alive::<E::Old>(&old).await {
                Ok(loaded) => loaded.map(AnyLoaded::Old),
                // A version that does not know the new form cannot see it.
                Err(_) => return Ok(None),
            },
            3 => match self.migrating.new.client.load_alive::<E>(&new).await {
                Ok(loaded) => loaded.map(AnyLoaded::New),
                Err(_) => return Ok(None),
            },
            _ => match self.migrating.hold(&new).await {
                Ok(held) => held.map(AnyLoaded::Any),
                Err(_) => return Ok(None),
            },
        };
        let stamp = match &loaded {
            None if self.version == 0 => return Ok(None),
            None => None,
            Some(AnyLoaded::Old(loaded)) => Some(stamp_of(&mut E::from(convert::<E>(loaded)))),
            Some(AnyLoaded::New(loaded)) => Some(stamp_of(&mut (**loaded).clone())),
            Some(AnyLoaded::Any(held)) => Some(stamp_of(&mut (**held).clone())),
        };
        self.saw(number, stamp, since)?;
        Ok(loaded)
    }

    async fn get(&self, number: u64, since: usize) -> Wrong {
        let found = match self.migrating.locate_alive(&keys::<E>(number).0).await {
            Ok(Located::New(loaded)) => Some((*loaded).clone()),
            Ok(Located::Old(old)) => Some(old.entity),
            Ok(Located::Parcel(parcel)) => Some(parcel.entity),
            Ok(Located::Nowhere) => None,
            Err(_) => return Ok(()),
        };
        if let Some(entity) = &found {
            entity.read(&self.migrating).await?;
        }
        self.saw(number, found.map(|mut entity| stamp_of(&mut entity)), since)
    }

    async fn list(&self, paged: bool) -> Wrong {
        let since: Vec<_> = (0..ENTITIES).map(|number| lock(&self.history).mark(number)).collect();
        let all =
            if paged { E::paged(&self.migrating).await } else { E::all(&self.migrating).await };
        let Ok(mut all) = all else { return Ok(()) };
        for (number, since) in (0..ENTITIES).zip(since) {
            let mut of_number = all.iter_mut().filter(|entity| entity.number() == number);
            let stamp = of_number.next().map(stamp_of);
            if of_number.next().is_some() {
                return Err(format!("a list has entity {number} twice"));
            }
            self.saw(number, stamp, since)?;
        }
        Ok(())
    }

    /// Lists by a row in another partition. It gives what counts, and lacks only what has to be settled.
    async fn list_followers(&self, paged: bool) -> Wrong {
        let since: Vec<_> = (0..ENTITIES).map(|number| lock(&self.history).mark(number)).collect();
        let begun = lock(&self.history).followed.mark();
        let Ok(mut all) = E::followers(&self.migrating, paged).await else { return Ok(()) };
        for (number, since) in (0..ENTITIES).zip(since) {
            let mut stamps: Vec<_> =
                all.iter_mut().filter(|entity| entity.number() == number).map(stamp_of).collect();
            let may_lack = lock(&self.history).followed.may_lack(number, begun);
            match stamps.pop() {
                None if !may_lack => {
                    return Err(format!("a list by its day lacks entity {number}"));
                }
                None => {}
                // One that changes its day meanwhile may be in both lists.
                Some(_) if !stamps.is_empty() && !may_lack => {
                    return Err(format!("lists by days have entity {number} twice"));
                }
                stamp => self.saw(number, stamp, since)?,
            }
        }
        Ok(())
    }

    /// Gives an entity a new stamp. Fails where what belongs to it cannot be uploaded.
    pub(super) async fn stamped(&self, entity: &mut E, stamp: &str) -> Result<()> {
        let (own, base) = entity.stamps();
        base.clone_from(own);
        stamp.clone_into(own);
        entity.touch();
        entity.upload(&self.migrating, self.version).await
    }

    /// Checks a reading: the entity was so at some time of the call.
    pub(super) fn saw(&self, number: u64, stamp: Option<String>, since: usize) -> Wrong {
        if lock(&self.history).was(number, since, |truth| *truth == stamp) {
            return Ok(());
        }
        Err(format!("entity {number} was read as {stamp:?}, which it was not"))
    }

    /// Whether an error leaves open what became of a write: of a client that sends requests again, only one kind does.
    pub(super) fn is_unknown(&self, error: &Error) -> bool {
        match error {
            Error::Ambiguous(_) => true,
            error => !self.retries && error.is_unanswered(),
        }
    }

    /// Checks the answer to a write.
    pub(super) fn check_answer(&self, stamp: &str, answer: Result<()>) -> Wrong {
        let mut history = lock(&self.history);
        match answer {
            Ok(()) if !history.has_applied(stamp) => {
                Err(format!("{stamp} was acknowledged, and has not taken effect"))
            }
            Ok(()) => Ok(()),
            Err(error) if self.is_unknown(&error) => Ok(()),
            Err(error) if history.has_applied(stamp) => {
                Err(format!("{stamp} was told `{error}`, and has taken effect"))
            }
            Err(_) => {
                history.refuse(stamp);
                Ok(())
            }
        }
    }

    /// One mover alone leaves nothing of the old form.
    async fn completes(&self) -> Result<Wrong> {
        // The first one clears the way for parcels whose switch could still come.
        E::make_room(&self.migrating).await?;
        self.migrating.migrate(&permit()).await.all()?;
        self.migrating.settle(&permit()).grace(Duration::ZERO).await.all()?;
        let report = self.migrating.verify_migrated(&permit()).await?;
        if !report.is_complete() || !report.left_over.is_empty() {
            return Ok(Err(format!("a mover alone leaves {report:?}")));
        }
        Ok(Ok(()))
    }

    /// The entities that are in their new form, expired or not.
    async fn new_rows_alone(&self) -> Result<Vec<E>> {
        let mut pages = CanonicalPages::of_table::<E>(&self.migrating.new.client, &permit());
        let mut all = Vec::new();
        loop {
            let (page, next) = pages.read().await?;
            all.extend(self.migrating.new_rows(&page.body)?.into_iter().map(Loaded::into_inner));
            match next {
                Some(next) => pages.token = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// Every entity is as it was, also when nothing of the old form is left.
    async fn ends(&self) -> Result<Wrong> {
        E::check_free(&self.migrating, false).await?;
        E::sweep(&self.migrating).await?;
        let report = self.migrating.verify_migrated(&permit()).await?;
        let compare = async || -> Result<Wrong> {
            let mut all = self.new_rows_alone().await?;
            all.retain(|entity| !entity.has_expired());
            for number in 0..ENTITIES {
                let found = all.iter_mut().find(|entity| entity.number() == number).map(stamp_of);
                let truth = lock(&self.history).now(number);
                if found != truth {
                    return Ok(Err(format!(
                        "entity {number} is {found:?} at the end, and was {truth:?}"
                    )));
                }
            }
            Ok(Ok(()))
        };
        if let Err(wrong) = compare().await? {
            return Ok(Err(wrong));
        }
        self.migrating.settle(&permit()).grace(Duration::ZERO).await.all()?;
        let retired = self.migrating.retire(&permit()).await.all()?;
        if retired.left > 0 || retired.markers != report.markers {
            return Ok(Err(format!("{retired:?} of {report:?}")));
        }
        E::check_free(&self.migrating, true).await?;
        compare().await
    }
}

/// What a client loaded.
pub(super) enum AnyLoaded<E: Subject> {
    /// By a client that knows the old form only.
    Old(Loaded<E::Old>),
    /// By a client that knows the new form only.
    New(Loaded<E>),
    Any(MigratingLoaded<E>),
}

/// The entity of a loaded one.
fn convert<E: Subject>(loaded: &Loaded<E::Old>) -> E::Old {
    let index = crate::entity::canonical::<E::Old>();
    crate::entity::read_row(index, loaded.stored()).unwrap()
}

pub(super) fn stamp_of<E: Subject>(entity: &mut E) -> String {
    entity.stamps().0.clone()
}
