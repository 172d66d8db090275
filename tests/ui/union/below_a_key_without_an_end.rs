use table_orm::{KeyPart, TableEntity, TableUnion, Tables};

#[derive(KeyPart)]
struct Title(String);

#[derive(TableEntity)]
#[table(name = "books", partition = "{shelf}", row = "BOOK:{title}")]
struct Book {
    shelf: String,
    title: Title,
}

#[derive(TableUnion)]
enum Shelf {
    Book(Book),
}

fn read(tables: &Tables) {
    let _ = tables.union::<Shelf>(Book::partition("A").row().title("Emma").and_below());
}

fn main() {}
