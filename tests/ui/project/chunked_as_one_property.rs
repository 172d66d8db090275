use table_orm::{Projection, TableEntity};

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{day:05}")]
struct Run {
    club: String,
    day: u32,
    #[table(chunked)]
    track: Vec<u8>,
}

#[derive(Projection)]
#[projection(of = Run)]
struct Track {
    track: Vec<u8>,
}

#[derive(Projection)]
#[projection(of = Run)]
struct Text {
    #[projection(chunked)]
    track: String,
}

fn main() {}
