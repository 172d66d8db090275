//! The service's stats: how far the secondary location has followed (service documentation, "Get Table
//! Service Stats").

use super::message::{Method, WireRequest, WireResponse};
use super::service::TableService;
use super::{http_date, xml};
use crate::store::{Replication, ReplicationStatus, StoreError};

impl TableService {
    /// Builds the request for the stats, which only the secondary location answers.
    #[must_use]
    pub fn replication(&self) -> WireRequest {
        let target = "/?restype=service&comp=stats".to_owned();
        WireRequest { method: Method::Get, target, ..self.cors_rules() }
    }
}

impl WireResponse {
    /// Reads the response to the request for the stats.
    ///
    /// # Errors
    /// Returns the service's error, or one for stats that cannot be read.
    pub fn replication(self) -> Result<Replication, StoreError> {
        let response = self.succeeded(&[200])?;
        let text = std::str::from_utf8(&response.body).unwrap_or_default();
        read(text).ok_or_else(|| {
            response.unreadable("the answer is not service stats with a replication status")
        })
    }
}

fn read(text: &str) -> Option<Replication> {
    let (stats, _) = xml::element(text, "StorageServiceStats")?;
    let (replication, _) = xml::element(stats, "GeoReplication")?;
    let status = match &*xml::text(xml::element(replication, "Status")?.0)? {
        "live" => ReplicationStatus::Live,
        "bootstrap" => ReplicationStatus::Bootstrap,
        "unavailable" => ReplicationStatus::Unavailable,
        _ => return None,
    };
    // Empty unless the copy follows.
    let last_sync = xml::element(replication, "LastSyncTime").and_then(|(time, _)| xml::text(time));
    let last_sync = match last_sync.as_deref() {
        None | Some("") => None,
        Some(time) => Some(http_date::instant(http_date::parse(time)?)?),
    };
    Some(Replication::new(status, last_sync))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(replication: &str) -> Result<Replication, StoreError> {
        let body = format!(
            "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceStats><GeoReplication>\
             {replication}</GeoReplication></StorageServiceStats>"
        );
        WireResponse::new(200, [], body.into()).replication()
    }

    #[test]
    fn the_status_and_the_time_of_the_last_sync_are_read() {
        let time = "<LastSyncTime>Sun, 06 Nov 1994 08:49:37 GMT</LastSyncTime>";
        let live = answer(&format!("<Status>live</Status>{time}")).unwrap();
        let last_sync = Some("1994-11-06T08:49:37Z".parse().unwrap());
        assert_eq!(live, Replication::new(ReplicationStatus::Live, last_sync));
        for (text, status) in [
            ("bootstrap", ReplicationStatus::Bootstrap),
            ("unavailable", ReplicationStatus::Unavailable),
        ] {
            for time in ["", "<LastSyncTime/>", "<LastSyncTime></LastSyncTime>"] {
                let read = answer(&format!("<Status>{text}</Status>{time}")).unwrap();
                assert_eq!(read, Replication::new(status, None));
            }
        }
    }

    #[test]
    fn stats_without_a_known_status_or_with_an_unreadable_time_are_an_error() {
        let soon = "<Status>live</Status><LastSyncTime>soon</LastSyncTime>";
        for stats in ["", "<Status>well</Status>", soon] {
            assert!(answer(stats).is_err(), "{stats}");
        }
    }
}
