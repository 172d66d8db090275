//! What every generated type implements.

use std::fmt::Debug;
use table_orm::TableEntity;
use table_orm::entity::Row;
use table_orm::property::Property;

#[derive(Debug, TableEntity)]
#[table(name = "readings", partition = "{station}")]
#[row(by_day, key = "DAY:{day:05}")]
#[row(short, key = "SHORT:{day:05}", include(value))]
struct Reading<T>
where
    T: Property + Send + Sync,
{
    station: String,
    day: u32,
    value: T,
}

#[test]
fn generated_types_are_cloned_and_show_their_names() {
    fn shown(value: &(impl Clone + Debug)) -> String {
        format!("{:?}", value.clone())
    }
    let station = Reading::<f64>::partition("Ural");
    assert!(shown(&station).starts_with("ReadingPartition("));
    assert!(shown(&station.by_day()).starts_with("ReadingByDay("));
    let day = station.by_day().day(7_u32);
    assert_eq!(shown(&day), format!("{day:?}"));
    assert!(shown(&day).contains("DAY:00007"));
    let patch = ReadingPatch::<f64>::default().value(1.5);
    assert!(shown(&patch).starts_with(r#"ReadingPatch(Patch("\"Value\":1.5"#), "{patch:?}");
    let columns = <ReadingShort<f64> as Row>::COLUMNS;
    let (copy, again) = (columns, columns);
    assert_eq!(shown(&copy), "ReadingShortColumns { .. }");
    assert_eq!(format!("{:?}", again.value), format!("{:?}", copy.value));
}
