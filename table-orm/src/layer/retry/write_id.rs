//! The id that a write leaves in its rows, to recognise them by.

use crate::codec::{MembersByName, members_by_name, write_object};
use crate::layer::LayerError;
use crate::model::{ETag, MAX_NAME_CHARS, TYPE_ANNOTATION, is_system_property};
use crate::store::{Action, ErrorCode, IfMatch, Operation, StoreError};
use bytes::Bytes;
use std::borrow::Cow;
use uuid::Uuid;

/// Separates an id from the version that it replaced.
const OVER: &str = " over ";

/// The property that holds the id of a row's last write.
#[derive(Debug, Clone)]
pub(super) struct WriteIdProperty(Cow<'static, str>);

impl WriteIdProperty {
    pub(super) fn new(name: Cow<'static, str>) -> Result<Self, LayerError> {
        let starts = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
        let valid = starts
            && name.len() <= MAX_NAME_CHARS
            && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
            && !is_system_property(&name);
        if valid { Ok(Self(name)) } else { Err(LayerError::WriteIdName(name.into_owned())) }
    }

    pub(super) fn name(&self) -> &str {
        &self.0
    }

    /// A new id: random, 32 hexadecimal digits.
    pub(super) fn new_id() -> String {
        Uuid::new_v4().simple().to_string()
    }

    /// Adds the id, and the version it replaces, to every row that the operations write.
    ///
    /// # Errors
    /// A row has a property of that name which holds something else.
    pub(super) fn stamp(&self, id: &str, operations: &mut [Operation]) -> Result<(), StoreError> {
        for (index, Operation { action, .. }) in operations.iter_mut().enumerate() {
            let mark = match action.if_match() {
                Some(IfMatch::ETag(etag)) => format!("{id}{OVER}{etag}"),
                _ => id.to_owned(),
            };
            match action {
                Action::Insert(body)
                | Action::InsertOrReplace(body)
                | Action::InsertOrMerge(body)
                | Action::Replace(body, _)
                | Action::Merge(body, _) => {
                    let marked = self.mark(body, &mark).map_err(|error| error.at(index))?;
                    if let Some(marked) = marked {
                        *body = marked;
                    }
                }
                Action::Delete(_) => {}
            }
        }
        Ok(())
    }

    /// The object with the property; `None` for anything but an object, which the store will reject.
    fn mark(&self, body: &Bytes, mark: &str) -> Result<Option<Bytes>, StoreError> {
        let Ok(text) = std::str::from_utf8(body).map(str::trim_ascii) else { return Ok(None) };
        let Ok(value) = serde_json::value::to_raw_value(mark) else { return Ok(None) };
        let name = &self.0;
        if text.contains(&**name) {
            let Ok(mut members) = members_by_name(text.as_bytes()) else { return Ok(None) };
            // A row that was read and is written back has one already.
            if members.remove(&**name).is_some_and(|own| !is_mark(own)) {
                return Err(self.taken());
            }
            members.remove(&*format!("{name}{TYPE_ANNOTATION}"));
            members.insert(name.clone(), value.get());
            return Ok(Some(write_object(&members).into()));
        }
        let Some(members) = text.strip_suffix('}').map(str::trim_ascii_end) else {
            return Ok(None);
        };
        let comma = if members.ends_with('{') { "" } else { "," };
        Ok(Some(format!("{members}{comma}\"{name}\":{value}}}").into()))
    }

    fn taken(&self) -> StoreError {
        let message = format!(
            "the row has a property `{0}` of its own, so `Retry::write_id(\"{0}\")` cannot leave \
             its id there; give `write_id` a name that no entity uses",
            self.0
        );
        StoreError::new(ErrorCode::INVALID_INPUT, message)
    }

    /// The mark in a row.
    pub(super) fn read(&self, row: &MembersByName<'_>) -> Option<Mark> {
        serde_json::from_str::<String>(row.get(&*self.0)?).ok().map(Mark::new)
    }
}

/// Whether an earlier write left this value.
fn is_mark(value: &str) -> bool {
    let text = serde_json::from_str::<String>(value);
    text.is_ok_and(|text| {
        let id = text.split_once(OVER).map_or(&*text, |(id, _)| id);
        id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// The mark of a row's last write.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mark {
    id: String,
    over: Option<String>,
}

impl Mark {
    fn new(text: String) -> Self {
        match text.split_once(OVER) {
            Some((id, over)) => Self { id: id.to_owned(), over: Some(over.to_owned()) },
            None => Self { id: text, over: None },
        }
    }

    /// Whether the write with this id left the mark.
    pub(super) fn is_of(&self, id: &str) -> bool {
        self.id == id
    }

    /// Whether the write that left the mark replaced that version.
    pub(super) fn replaced(&self, etag: &ETag) -> bool {
        self.over.as_deref() == Some(etag.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn property() -> WriteIdProperty {
        WriteIdProperty::new("WriteId".into()).unwrap()
    }

    fn stamped(action: Action) -> String {
        let mut operations = [Operation { row_key: "r".into(), action }];
        property().stamp("id", &mut operations).unwrap();
        let [Operation { action, .. }] = operations;
        String::from_utf8(action.body().unwrap().to_vec()).unwrap()
    }

    #[test]
    fn a_write_leaves_its_id_and_the_version_it_replaced() {
        assert_eq!(stamped(Action::Insert("{\"A\":1.50}".into())), r#"{"A":1.50,"WriteId":"id"}"#);
        assert_eq!(stamped(Action::InsertOrMerge(" { } ".into())), r#"{"WriteId":"id"}"#);
        let etag = ETag::new("W/\"datetime'1'\"");
        let row = stamped(Action::Merge("{\"A\":1}".into(), IfMatch::ETag(etag.clone())));
        assert_eq!(row, r#"{"A":1,"WriteId":"id over W/\"datetime'1'\""}"#);
        let members = members_by_name(row.as_bytes()).unwrap();
        let mark = property().read(&members).unwrap();
        assert!(mark.is_of("id") && mark.replaced(&etag));
        assert!(!mark.is_of("other") && !mark.replaced(&ETag::new("W/\"datetime'2'\"")));
    }

    #[test]
    fn the_id_of_an_earlier_write_is_replaced() {
        let old = WriteIdProperty::new_id();
        for old in [old.clone(), format!("{old}{OVER}W/'1'")] {
            let row = format!(
                r#"{{"A":1,"WriteId":"{old}","WriteId@odata.type":"Edm.String","B":"WriteId"}}"#
            );
            assert_eq!(
                stamped(Action::InsertOrReplace(row.into())),
                r#"{"A":1,"B":"WriteId","WriteId":"id"}"#
            );
        }
    }

    #[test]
    fn a_property_of_the_rows_own_is_never_replaced() {
        for own in ["\"order 7\"", "7", "\"0123456789abcdef0123456789abcde\"", "null"] {
            let insert = |body: String| Operation {
                row_key: "r".into(),
                action: Action::Insert(body.into()),
            };
            let row = format!("{{\"A\":1,\"WriteId\":{own}}}");
            let mut operations = [insert("{\"A\":1}".to_owned()), insert(row)];
            let rejected = property().stamp("id", &mut operations).unwrap_err();
            assert_eq!((&rejected.code, rejected.operation), (&ErrorCode::INVALID_INPUT, Some(1)));
            assert!(rejected.message.contains("`WriteId` of its own"), "{rejected}");
        }
    }

    #[test]
    fn anything_but_an_object_is_left_to_the_store() {
        for body in ["", "[1]", "\"WriteId\"", "{\"WriteId\":"] {
            assert_eq!(stamped(Action::Insert(body.into())), body);
        }
    }

    #[test]
    fn names_that_the_service_would_reject_are_rejected() {
        for name in ["", "1A", "a-b", "RowKey", "é", &"a".repeat(256)] {
            let name = name.to_owned();
            assert!(WriteIdProperty::new(name.clone().into()).is_err(), "{name}");
        }
        assert!(WriteIdProperty::new("_Id9".into()).is_ok());
    }
}
