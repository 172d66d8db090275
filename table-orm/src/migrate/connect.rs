//! How a client of entities whose stored keys change begins.

use super::check::check;
use super::check_sums::check_sums;
use super::compare_types::same_table;
use super::follow::{after_move, has_followers};
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::other_form::{check_guard_tables, other_form};
use super::stored_form::StoredForm;
use crate::entity::has_across;
use crate::error::{MigrationError, Result};
use crate::model::TableName;
use crate::plan::Connection;
use crate::repo::Repo;
use std::sync::Arc;

impl<E: Migrates> Migrating<E> {
    /// The entities in these tables.
    pub(crate) fn new(
        connection: &Arc<Connection>,
        old: TableName,
        new: TableName,
    ) -> Result<Self> {
        const { check::<E>() };
        check_sums::<E>()?;
        // Keys that may meet in one table are kept apart only where the types say that they share it.
        let is_one = old.is(&new);
        if is_one != same_table::<E>() {
            let tables = if is_one { "two tables" } else { "one table" };
            let (entity, old, new) = (E::NAME, old.to_string(), new.to_string());
            return Err(MigrationError::TableCount { entity, tables, old, new }.into());
        }
        let mut new = Repo::<E>::new(Arc::clone(connection), new);
        let mut old = Repo::<E::Old>::new(Arc::clone(connection), old);
        if same_table::<E>() {
            // An expired entity of either form may be in the way of a write in the other one.
            let evicted = new.client.expiry.evict.clone();
            new.client.expiry.evict.extend(old.client.expiry.evict.iter().cloned());
            old.client.expiry.evict.extend(evicted);
        }
        if has_followers::<E::Old>() {
            // A transaction within a partition has the intents of both forms.
            new.client.after_move = Some(after_move::<E>);
            old.client.after_move = Some(after_move::<E>);
        }
        if has_across::<E>() {
            check_guard_tables::<E>(&old.client.table, &new.client.table)?;
            let forms = (other_form::<E::Old>(&old.client), other_form::<E>(&new.client));
            (new.client.other_form, old.client.other_form) = (Some(forms.0), Some(forms.1));
        }
        Ok(Self { new, old, form: StoredForm::New })
    }
}
