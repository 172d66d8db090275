use table_orm::query::{Column, Condition};
use table_orm::{KeyPart, property::Json, property::Zstd};

#[derive(Clone, Copy, KeyPart)]
enum Priority {
    #[key("low")]
    Low,
    #[key("high")]
    High,
}

#[derive(Clone, KeyPart)]
struct Price(rust_decimal::Decimal);

fn decimal(price: Column<rust_decimal::Decimal>) -> Condition {
    price.ge(rust_decimal::Decimal::TEN)
}

fn newtype(price: Column<Price>) -> Condition {
    price.gt(Price(rust_decimal::Decimal::TEN))
}

fn codes(priority: Column<Priority>) -> Condition {
    priority.lt(Priority::High).and(priority.eq(Priority::Low))
}

fn bytes(bytes: Column<Vec<u8>>) -> Condition {
    bytes.le(vec![])
}

fn json(json: Column<Json<u8>>) -> Condition {
    json.le(Json(1))
}

fn compressed(compressed: Column<Option<Zstd<u8>>>) -> Condition {
    compressed.le(Some(Zstd(1)))
}

fn main() {}
