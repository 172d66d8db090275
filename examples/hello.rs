//! Stores an entity, reads it back, and shows the row that a storage browser would show.

use table_orm::{ScanPermit, TableEntity, Tables};

#[derive(Debug, TableEntity)]
#[table(name = "tasks", partition = "{list}", row = "{number:04}")]
struct Task {
    list: String,
    number: u32,
    title: String,
    done: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> table_orm::Result<()> {
    let tables = Tables::in_memory()?; // or Tables::open("tasks.redb")?, which keeps them
    let tasks = tables.repo::<Task>();
    tasks.create_table().await?;

    for (number, title) in [(1, "Buy flour"), (2, "Bake bread"), (10, "Eat it")] {
        let task = Task { list: "kitchen".into(), number, title: title.into(), done: false };
        tasks.insert(&task).await?;
    }

    // The derive made this builder from the two templates. One complete key reads one row.
    let kitchen = Task::partition("kitchen");
    let second = tasks.get(kitchen.row().number(2)).await?;
    println!("task 2: {:?}", second.map(|task| task.title));

    // A partition comes in the order of its keys: `{number:04}` sorts 2 before 10.
    for task in tasks.list(kitchen).collect().await? {
        println!("{:>2} {} {}", task.number, if task.done { "x" } else { "-" }, task.title);
    }

    // What is stored, read without the type.
    let rows = tables.scan("tasks".parse()?, ScanPermit::because("to show the stored rows"));
    for row in rows.collect().await? {
        println!("{} | {} | {:?}", row.partition_key, row.row_key, row.properties["Title"]);
    }
    Ok(())
}

// Prints:
// task 2: Some("Bake bread")
//  1 - Buy flour
//  2 - Bake bread
// 10 - Eat it
// kitchen | 0001 | String("Buy flour")
// kitchen | 0002 | String("Bake bread")
// kitchen | 0010 | String("Eat it")
