use table_orm::{TableEntity, shares_table};

#[derive(TableEntity)]
#[table(name = "documents", partition = "{folder}", row = "DOC:{name}")]
struct Document {
    folder: String,
    name: String,
}

#[derive(TableEntity)]
#[table(name = "documents", partition = "{folder}", row = "DOC:{name}__REV:{revision:03}")]
struct Revision {
    folder: String,
    name: String,
    revision: u16,
}

#[derive(TableEntity)]
#[table(name = "folders", partition = "{folder}", row = "FOLDER")]
struct Folder {
    folder: String,
}

shares_table!(Document, Revision, Folder);

fn main() {}
