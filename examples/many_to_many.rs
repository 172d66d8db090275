//! Both directions of many-to-many: the rooms of a user, and the users of a room.

use table_orm::{TableEntity, Tables};

/// One entity for each pair. The user's partition is its own; the room's partition has a row of it.
#[derive(Debug, Clone, TableEntity)]
#[table(name = "members", partition = "user:{user}", row = "ROOM:{room}")]
#[row(by_room, partition = "room:{room}", key = "USER:{user}", eventual)]
struct Member {
    user: String,
    room: String,
    admin: bool,
}

fn member(user: &str, room: &str) -> Member {
    Member { user: user.into(), room: room.into(), admin: user == "ann" }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> table_orm::Result<()> {
    let members = Tables::in_memory()?.repo::<Member>();
    members.create_table().await?;
    for (user, room) in [("ann", "hall"), ("ann", "kitchen"), ("bob", "kitchen")] {
        members.insert(&member(user, room)).await?;
    }

    for member in members.list(Member::partition("ann")).collect().await? {
        println!("ann is in the {}", member.room);
    }
    for member in members.list(Member::by_room("kitchen")).collect().await? {
        println!("the kitchen has {}{}", member.user, if member.admin { ", an admin" } else { "" });
    }

    // A change is found in both partitions, and a delete is gone from both.
    let bob = Member::partition("bob").row().room("kitchen");
    members.update(&bob, |member| member.admin = true).await?;
    let admins = members.list(Member::by_room("kitchen")).filter(|row| row.admin.eq(true));
    println!("{} admins in the kitchen", admins.count().await?);
    let ann = members.load(Member::by_room("kitchen").user("ann")).await?.one()?;
    members.delete(ann).await?;
    println!("{} left in the kitchen", members.list(Member::by_room("kitchen")).count().await?);

    // The row of a room may be behind for a moment. `checked` reads the members themselves.
    let now = members.list(Member::by_room("kitchen")).checked().collect().await?;
    println!("now in the kitchen: {:?}", now.iter().map(|member| &member.user).collect::<Vec<_>>());
    Ok(())
}

// Prints:
// ann is in the hall
// ann is in the kitchen
// the kitchen has ann, an admin
// the kitchen has bob
// 2 admins in the kitchen
// 1 left in the kitchen
// now in the kitchen: ["bob"]
