//! What the shop does.

use crate::customer::Customer;
use crate::invoice::{Billed, Invoice};
use crate::order::Order;
use table_orm::eventual::TableRegister;
use table_orm::repo::Sequence;
use table_orm::{Error, Repo, Result, TableEntity, Tables};
use time::Date;

/// The partition of the sequences of ids.
const IDS: &str = "ids";
/// The series of all invoices.
pub const SERIES: &str = "main";

/// The tables of the shop.
pub struct Shop {
    /// In partitions of their own.
    pub customers: Repo<Customer>,
    /// In the partitions of their customers.
    pub orders: Repo<Order>,
    /// In one partition.
    pub invoices: Repo<Invoice>,
    /// Names the customers that an ended process was writing.
    pub customers_due: TableRegister,
    /// Names the customers whose orders an ended process was writing, and those with events.
    pub orders_due: TableRegister,
    customer_ids: Sequence,
    order_numbers: Sequence,
    invoice_numbers: Sequence,
}

impl Shop {
    /// Opens the shop, and creates the tables that do not exist yet.
    pub async fn open(tables: &Tables) -> Result<Self> {
        let customers = opened::<Customer>(tables).await?;
        let orders = opened::<Order>(tables).await?;
        let invoices = opened::<Invoice>(tables).await?;
        // Before the first write: what is written earlier is found by a scan only.
        let customers_due = customers.register().await?;
        let orders_due = orders.register().await?;
        let ids = |name| tables.table(name).sequence(IDS, "numbers").starting_at(1000);
        let customer_ids = ids(customers.table().clone());
        let order_numbers = ids(orders.table().clone());
        let invoice_numbers = invoices.sequence(Invoice::partition(SERIES), "numbers");
        Ok(Self {
            customers,
            orders,
            invoices,
            customers_due,
            orders_due,
            customer_ids,
            order_numbers,
            invoice_numbers,
        })
    }

    /// A customer with an id of its own. Sends one request in a while, for several ids.
    pub async fn new_customer(&self, name: &str, email: &str) -> Result<Customer> {
        let id = self.customer_ids.next().await?;
        Ok(Customer { id, name: name.to_owned(), email: email.to_owned() })
    }

    /// An order with a number of its own. Sends one request in a while, for several numbers.
    pub async fn new_order(
        &self,
        customer: u64,
        day: Date,
        labels: &[&str],
        cents: i64,
    ) -> Result<Order> {
        let number = self.order_numbers.next().await?;
        let labels = labels.iter().map(|&label| label.to_owned()).collect();
        Ok(Order { customer, number, day, labels, cents, invoice: None })
    }

    /// Writes the invoices of a day: of all orders that have none. Returns how many are new.
    ///
    /// May be killed at any moment, and run again, also by several processes at once.
    pub async fn bill(&self, day: Date) -> Result<usize> {
        let open = self.orders.list(Order::by_day(day)).filter(|order| order.invoice.is_absent());
        let mut new = 0;
        for order in open.checked().collect().await? {
            let number = match self.invoice_of(&order).await? {
                Some(number) => number,
                None => match self.write_invoice(&order).await? {
                    Some(number) => {
                        new += 1;
                        number
                    }
                    // Another process was faster, and says so in the order.
                    None => continue,
                },
            };
            let key = Order::partition(order.customer).by_number().number(order.number);
            self.orders.update(key, |order| order.invoice = Some(number)).await?;
        }
        Ok(new)
    }

    async fn invoice_of(&self, order: &Order) -> Result<Option<u64>> {
        let of_order = Invoice::partition(SERIES).by_order().order(order.number);
        let billed = self.invoices.list(of_order).project::<Billed>().first().await?;
        Ok(billed.map(|billed| billed.number))
    }

    /// `None` where the order has an invoice.
    async fn write_invoice(&self, order: &Order) -> Result<Option<u64>> {
        let Order { number: order, day, cents, .. } = *order;
        let mut new = [Invoice { series: SERIES.to_owned(), number: 0, order, day, cents }];
        let numbers = &self.invoice_numbers;
        match numbers.insert_numbered(&mut new, |invoice, number| invoice.number = number).await {
            Ok(numbers) => Ok(Some(numbers.start)),
            Err(Error::UniqueViolation { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

async fn opened<E: TableEntity>(tables: &Tables) -> Result<Repo<E>> {
    let repo = tables.repo::<E>();
    repo.create_table_if_not_exists().await?;
    Ok(repo)
}
