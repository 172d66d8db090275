//! Reads the members of a stored row's JSON object.

use super::aliases::{Alias, AliasesRead};
use super::json::Json;
use super::name_cache::{CachedName, MemberRole, NameCache};
use crate::codec::{Property, PropertyError, PropertyFault, RowFault};
use crate::key::{KeyError, StoredKeys};
use crate::model::{DateTime, ETag, Edm, HOME_TABLE, KIND, MOVED_TO};
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, Visitor};
use std::borrow::Cow;
use std::marker::PhantomData;
use std::{fmt, mem};

/// The context of the row that is being read: its keys and its version.
#[derive(Debug)]
pub(crate) struct RowContext<'de> {
    pub(crate) entity: &'static str,
    pub(crate) partition_key: Cow<'de, str>,
    pub(crate) row_key: Cow<'de, str>,
    pub(crate) timestamp: Cow<'de, str>,
    /// The version as the store states it; empty in rows without metadata.
    pub(crate) stated_etag: Cow<'de, str>,
    /// Where the entity is now, in a row that was moved.
    pub(crate) moved_to: Option<Cow<'de, str>>,
    /// The kind of the row's type; empty where rows are not marked.
    pub(crate) kind: Cow<'de, str>,
    /// The table of the entity, in a row in another partition that says it.
    pub(crate) home_table: Option<Cow<'de, str>>,
    /// The names under which it may store properties of the type that is read.
    pub(crate) aliases: &'static [Alias],
    /// The property that says when it expires, where a reader asks for that, and its value.
    pub(crate) expires: Option<&'static str>,
    pub(crate) expires_at: Option<DateTime>,
}

impl RowContext<'_> {
    pub(crate) const fn new(entity: &'static str) -> Self {
        const NONE: Cow<'static, str> = Cow::Borrowed("");
        Self {
            entity,
            partition_key: NONE,
            row_key: NONE,
            timestamp: NONE,
            stated_etag: NONE,
            moved_to: None,
            kind: NONE,
            home_table: None,
            aliases: &[],
            expires: None,
            expires_at: None,
        }
    }

    /// The context of a row that may store properties under former names.
    pub(crate) const fn with_aliases(entity: &'static str, aliases: &'static [Alias]) -> Self {
        let mut context = Self::new(entity);
        context.aliases = aliases;
        context
    }

    /// Whether it has not expired at that instant, as far as its reader asked.
    pub(crate) fn is_alive(&self, now: DateTime) -> bool {
        self.expires_at.is_none_or(|at| at > now)
    }

    /// The row's version: as stated, or derived from the timestamp.
    pub(crate) fn etag(&self) -> ETag {
        if self.stated_etag.is_empty() {
            ETag::from_timestamp(&self.timestamp)
        } else {
            ETag::new(&*self.stated_etag)
        }
    }

    /// The error of this row.
    pub(crate) fn error(&self, fault: RowFault) -> PropertyError {
        let (property, fault) = fault.into_parts();
        PropertyError {
            entity: self.entity,
            property,
            partition_key: self.partition_key.clone().into_owned(),
            row_key: self.row_key.clone().into_owned(),
            fault,
        }
    }
}

/// The members of one row, in stored order.
#[derive(Debug)]
pub struct Members<'c, 'de> {
    json: &'c mut Json<'de>,
    context: &'c mut RowContext<'de>,
    /// The names of the rows before, while they are cached.
    names: &'c mut Option<NameCache<'de>>,
    /// The position in the cache of the name that is expected next.
    place: usize,
    is_first: bool,
    /// Whether each name is handed out as it is stored, and nobody asks when the row expires.
    is_plain: bool,
    aliases: AliasesRead,
}

impl<'c, 'de> Members<'c, 'de> {
    pub(crate) const fn new(
        json: &'c mut Json<'de>,
        context: &'c mut RowContext<'de>,
        names: &'c mut Option<NameCache<'de>>,
    ) -> Self {
        let is_plain = context.aliases.is_empty() && context.expires.is_none();
        let aliases = AliasesRead::none();
        Self { json, context, names, place: 0, is_first: true, is_plain, aliases }
    }

    /// The next member's name: the present one of a property that is stored under a former name. Leaves out
    /// a value that does not count beside that of an alias.
    ///
    /// # Errors
    /// When the row is not JSON.
    #[inline]
    pub fn next_name(&mut self) -> Result<Option<Cow<'de, str>>, RowFault> {
        match self.expected_name() {
            Some((name, _)) => Ok(Some(Cow::Borrowed(name))),
            None => self.any_name(),
        }
    }

    /// The same, and what the member holds.
    #[inline]
    pub(crate) fn next_member(&mut self) -> Result<Option<(Cow<'de, str>, MemberRole)>, RowFault> {
        match self.expected_name() {
            Some((name, role)) => Ok(Some((Cow::Borrowed(name), role))),
            None => Ok(self.any_name()?.map(|name| {
                let role = MemberRole::of(&name);
                (name, role)
            })),
        }
    }

    /// The same of a member that may be a property: keeps the keys, timestamp and ETag before it, and skips the types
    /// of properties.
    ///
    /// # Errors
    /// When the row is not JSON.
    #[inline]
    pub fn next_property(&mut self) -> Result<Option<Cow<'de, str>>, RowFault> {
        while let Some((name, role)) = self.next_member()? {
            if role == MemberRole::Property {
                return Ok(Some(name));
            }
            self.keep(role)?;
        }
        Ok(None)
    }

    /// Reads a member: keeps a key, the timestamp or the ETag, and skips everything else.
    #[inline]
    pub(crate) fn keep(&mut self, role: MemberRole) -> Result<(), RowFault> {
        let slot = match role {
            MemberRole::PartitionKey => &mut self.context.partition_key,
            MemberRole::RowKey => &mut self.context.row_key,
            MemberRole::Timestamp => &mut self.context.timestamp,
            MemberRole::ETag => &mut self.context.stated_etag,
            MemberRole::Annotation => return self.skip_type(),
            MemberRole::Property => return self.json.ignore(),
        };
        *slot = self.json.text()?;
        Ok(())
    }

    /// Skips the type of a property, which mostly is that of the rows before.
    #[inline]
    fn skip_type(&mut self) -> Result<(), RowFault> {
        let rest = match &self.names {
            Some(names) => names.after_type(self.place, self.json.rest),
            None => None,
        };
        match rest {
            Some(rest) => self.json.rest = rest,
            None => self.skip_new_type()?,
        }
        Ok(())
    }

    #[inline(never)]
    fn skip_new_type(&mut self) -> Result<(), RowFault> {
        let rest = self.json.rest;
        self.json.ignore()?;
        if let Some(names) = &mut *self.names {
            names.keep_type(self.place, &rest[..rest.len() - self.json.rest.len()]);
        }
        Ok(())
    }

    /// The next member's name, and what the member holds: if it is the name that comes here in the rows before; in a row
    /// that is read alone, if it has neither spaces nor escapes.
    #[inline]
    fn expected_name(&mut self) -> Option<(&'de str, MemberRole)> {
        if !self.is_plain {
            return None;
        }
        let Some(names) = &*self.names else {
            let name = self.json.plain_name(self.is_first)?;
            self.is_first = false;
            return Some((name, MemberRole::of(name)));
        };
        let (cached, rest) = names.expected(self.place, self.is_first, self.json.rest)?;
        let expected = (cached.name(), cached.role());
        (self.place, self.is_first, self.json.rest) = (self.place + 1, false, rest);
        Some(expected)
    }

    #[inline(never)]
    fn any_name(&mut self) -> Result<Option<Cow<'de, str>>, RowFault> {
        if let (false, Some(rest)) = (self.is_first, self.json.rest.strip_prefix('}')) {
            self.json.rest = rest;
            return Ok(None);
        }
        let mut name = self.stored_name()?;
        if !self.context.aliases.is_empty() {
            name = self.present_name(name)?;
        }
        if self.context.expires.is_some() && self.context.expires == name.as_deref() {
            self.context.expires_at = self.instant_ahead();
        }
        Ok(name)
    }

    /// The instant that is read next; `None` for a value of another type.
    fn instant_ahead(&self) -> Option<DateTime> {
        Json { rest: self.json.rest }.optional_text().ok()??.parse().ok()
    }

    /// The present name of the first member from `stored` on whose value counts.
    fn present_name(
        &mut self,
        mut stored: Option<Cow<'de, str>>,
    ) -> Result<Option<Cow<'de, str>>, RowFault> {
        while let Some(name) = stored {
            // A store may return `null` for a property that a query asks for and the row lacks.
            if !self.json.is_null()
                && let Some(name) = self.aliases.present_name(name, self.context.aliases)
            {
                return Ok(Some(name));
            }
            self.json.ignore()?;
            stored = self.stored_name()?;
        }
        Ok(None)
    }

    fn stored_name(&mut self) -> Result<Option<Cow<'de, str>>, RowFault> {
        let is_first = mem::replace(&mut self.is_first, false);
        let Some(names) = &*self.names else { return self.json.name(is_first) };
        let Some((name, place, rest)) = names.find(self.place, is_first, self.json.rest) else {
            return self.new_name(is_first);
        };
        (self.place, self.json.rest) = (place, rest);
        Ok(Some(Cow::Borrowed(name)))
    }

    #[cold]
    fn new_name(&mut self, is_first: bool) -> Result<Option<Cow<'de, str>>, RowFault> {
        let rest = self.json.rest;
        let name = self.json.name(is_first)?;
        if let (Some(names), Some(Cow::Borrowed(name))) = (&mut *self.names, &name) {
            let text = &rest[..rest.len() - self.json.rest.len()];
            match names.insert(self.place, CachedName::new(is_first, text, name)) {
                Some(place) => self.place = place,
                None => *self.names = None,
            }
        }
        Ok(name)
    }

    /// Reads the members that are left, and keeps only the keys, timestamp and ETag.
    pub(crate) fn skip(&mut self) -> Result<(), RowFault> {
        while let Some(name) = self.next_name()? {
            self.other(&name)?;
        }
        Ok(())
    }

    /// Reads the value of `property` into `slot`; `null` leaves it empty.
    ///
    /// # Errors
    /// When it is not a value of the type. The value is skipped then, and the next member follows.
    pub fn read<T: Property>(
        &mut self,
        property: &str,
        slot: &mut Option<T>,
    ) -> Result<(), RowFault> {
        match self.json.value(Slot(PhantomData)) {
            Ok(value) => {
                *slot = value;
                Ok(())
            }
            Err(error) => {
                // Text that is not JSON fails again at the next member.
                let _ = self.json.ignore();
                Err(RowFault::unreadable(property, &error))
            }
        }
    }

    /// Reads the text of `property`: a slice of the row unless it has escapes; `None` for `null`.
    ///
    /// # Errors
    /// When it is not a text. The value is skipped then, and the next member follows.
    pub(crate) fn read_text(&mut self, property: &str) -> Result<Option<Cow<'de, str>>, RowFault> {
        self.json.optional_text().map_err(|error| {
            // Text that is not JSON fails again at the next member.
            let _ = self.json.ignore();
            RowFault::unreadable(property, &error)
        })
    }

    /// Reads a member that no field has: keeps the keys, timestamp, ETag and marks, skips the rest.
    ///
    /// # Errors
    /// When the row is not JSON.
    pub fn other(&mut self, name: &str) -> Result<(), RowFault> {
        match MemberRole::of(name) {
            MemberRole::Property => self.rest(name),
            role => self.keep(role),
        }
    }

    /// Keeps a mark whose value was read as a property of a row of any shape.
    pub(crate) fn note(&mut self, name: &str, value: Option<&Edm>) {
        let text = |value: &Edm| match value {
            Edm::String(text) => Cow::Owned(text.clone()),
            _ => Cow::Borrowed(""),
        };
        match name {
            MOVED_TO => self.context.moved_to = value.map(text),
            KIND => self.context.kind = value.map(text).unwrap_or_default(),
            HOME_TABLE => self.context.home_table = value.map(text),
            _ => {}
        }
    }

    /// The text that was not read yet, from the brace or the comma before the next name.
    pub(crate) const fn unread(&self) -> &'de str {
        self.json.rest
    }

    /// Reads a member that is neither key nor version: keeps marks, skips the rest.
    fn rest(&mut self, name: &str) -> Result<(), RowFault> {
        match name {
            MOVED_TO => self.context.moved_to = self.mark()?,
            KIND => self.context.kind = self.mark()?.unwrap_or_default(),
            HOME_TABLE => self.context.home_table = self.mark()?,
            _ => return self.json.ignore(),
        }
        Ok(())
    }

    /// Reads a mark: its text, or empty text for a value of another type; `None` for `null`.
    fn mark(&mut self) -> Result<Option<Cow<'de, str>>, RowFault> {
        match self.json.optional_text() {
            Ok(text) => Ok(text),
            Err(_) => self.json.ignore().map(|()| Some(Cow::Borrowed(""))),
        }
    }

    /// The row's PartitionKey, once it was read.
    #[must_use]
    pub fn partition_key(&self) -> Cow<'de, str> {
        self.context.partition_key.clone()
    }

    /// The table of the entity, once it was read, in a row in another partition that says it.
    pub(crate) fn home_table(&self) -> Option<Cow<'de, str>> {
        self.context.home_table.clone()
    }

    /// The row's RowKey, once it was read.
    #[must_use]
    pub fn row_key(&self) -> Cow<'de, str> {
        self.context.row_key.clone()
    }

    /// The row's version, once its timestamp was read.
    #[must_use]
    pub fn etag(&self) -> ETag {
        self.context.etag()
    }

    /// When the row was last written, if the timestamp was read.
    #[must_use]
    pub fn timestamp(&self) -> Option<DateTime> {
        self.context.timestamp.parse().ok()
    }

    /// Reads a field from the row's keys, once they were read.
    ///
    /// # Errors
    /// When they are not keys of the entity.
    #[doc(hidden)]
    pub fn read_keys<E, T>(
        &self,
        row: usize,
        from_keys: fn(&StoredKeys<'_, E>) -> Result<Option<T>, KeyError>,
    ) -> Result<Option<T>, RowFault> {
        let RowContext { partition_key, row_key, .. } = &*self.context;
        from_keys(&StoredKeys { row, partition_key, row_key, entity: PhantomData })
            .map_err(key_fault)
    }

    /// Fills an empty slot with the field's value in the keys, once they were read.
    ///
    /// # Errors
    /// When they are not keys of the entity.
    #[doc(hidden)]
    pub fn fill_from_keys<E, T>(
        &self,
        row: usize,
        slot: &mut Option<T>,
        from_keys: fn(&StoredKeys<'_, E>) -> Result<Option<T>, KeyError>,
    ) -> Result<(), RowFault> {
        if slot.is_none() {
            *slot = self.read_keys(row, from_keys)?;
        }
        Ok(())
    }

    /// Reads a field that only the row's keys hold, once they were read.
    ///
    /// # Errors
    /// When they are not keys of the entity.
    #[doc(hidden)]
    pub fn key_value<E, T>(
        &self,
        row: usize,
        name: &str,
        from_keys: fn(&StoredKeys<'_, E>) -> Result<Option<T>, KeyError>,
    ) -> Result<T, RowFault> {
        let value = self.read_keys(row, from_keys)?;
        value.ok_or_else(|| RowFault::new(name, PropertyFault::Missing))
    }
}

fn key_fault(error: KeyError) -> RowFault {
    RowFault::new(error.component, PropertyFault::Key(Box::new(error)))
}

/// A property's value, or `null`.
struct Slot<T>(PhantomData<T>);

impl<'de, T: Property> DeserializeSeed<'de> for Slot<T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Self::Value, D::Error> {
        value.deserialize_option(self)
    }
}

impl<'de, T: Property> Visitor<'de> for Slot<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a property value")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<Self::Value, D::Error> {
        T::read(value).map(Some)
    }
}
