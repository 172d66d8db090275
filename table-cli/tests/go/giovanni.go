// A round trip of the Go client giovanni, which Terraform uses. Arguments: the server's address, its account, its key.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/Azure/go-autorest/autorest"
	"github.com/Azure/go-autorest/autorest/azure"
	"github.com/tombuildsstuff/giovanni/storage/2020-08-04/table/entities"
	"github.com/tombuildsstuff/giovanni/storage/2020-08-04/table/tables"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func refused(response autorest.Response, err error, status int) {
	if err == nil || response.StatusCode != status {
		panic(fmt.Sprintf("%v is not %d", err, status))
	}
}

// Sends to the server what is for the cloud.
type redirected struct{ http.Transport }

func (r *redirected) RoundTrip(request *http.Request) (*http.Response, error) {
	request.URL.Scheme = "http"
	return r.Transport.RoundTrip(request)
}

func main() {
	address, account, key := os.Args[1], os.Args[2], os.Args[3]
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	authorizer, err := autorest.NewSharedKeyAuthorizer(account, key, autorest.SharedKeyLiteForTable)
	check(err)
	prepare := func(client *autorest.Client) {
		client.Sender = &http.Client{Transport: &redirected{http.Transport{DialContext: dial}}}
		client.Authorizer = authorizer
		client.RetryAttempts = 1
	}
	ctx := context.Background()
	service := tables.NewWithEnvironment(azure.PublicCloud)
	prepare(&service.Client)
	rows := entities.NewWithEnvironment(azure.PublicCloud)
	prepare(&rows.Client)

	_, err = service.Create(ctx, account, "giovanni")
	check(err)
	again, err := service.Create(ctx, account, "giovanni")
	refused(again, err, 409)
	_, err = service.Exists(ctx, account, "giovanni")
	check(err)
	absent, err := service.Exists(ctx, account, "nowhere")
	refused(absent, err, 404)
	for _, level := range []tables.MetaDataLevel{tables.NoMetaData, tables.MinimalMetaData, tables.FullMetaData} {
		all, err := service.Query(ctx, account, level)
		check(err)
		if len(all.Tables) == 0 {
			panic("no tables")
		}
	}

	insert := entities.InsertEntityInput{
		MetaDataLevel: entities.MinimalMetaData,
		PartitionKey:  "p",
		RowKey:        "r",
		Entity:        map[string]interface{}{"Note": "é <&>", "Age": 55, "Chip@odata.type": "Edm.Int64", "Chip": "12345678901234"},
	}
	_, err = rows.Insert(ctx, account, "giovanni", insert)
	check(err)
	clash, err := rows.Insert(ctx, account, "giovanni", insert)
	refused(clash, err, 409)
	get := entities.GetEntityInput{PartitionKey: "p", RowKey: "r", MetaDataLevel: entities.FullMetaData}
	read, err := rows.Get(ctx, account, "giovanni", get)
	check(err)
	for name, value := range map[string]interface{}{"Note": "é <&>", "Age": 55.0, "Chip": "12345678901234"} {
		if read.Entity[name] != value {
			panic(fmt.Sprintf("%s: %v", name, read.Entity))
		}
	}
	_, err = rows.InsertOrMerge(ctx, account, "giovanni", entities.InsertOrMergeEntityInput{
		PartitionKey: "p", RowKey: "r", Entity: map[string]interface{}{"City": "x"},
	})
	check(err)
	filter, top := "PartitionKey eq 'p' and Chip eq 12345678901234L", 5
	found, err := rows.Query(ctx, account, "giovanni", entities.QueryEntitiesInput{
		Filter: &filter, Top: &top, MetaDataLevel: entities.MinimalMetaData,
	})
	check(err)
	if len(found.Entities) != 1 || found.Entities[0]["City"] != "x" {
		panic(fmt.Sprintf("%v", found.Entities))
	}
	_, err = rows.InsertOrReplace(ctx, account, "giovanni", entities.InsertOrReplaceEntityInput{
		PartitionKey: "p", RowKey: "r", Entity: map[string]interface{}{"City": "y"},
	})
	check(err)
	_, err = rows.Delete(ctx, account, "giovanni", entities.DeleteEntityInput{PartitionKey: "p", RowKey: "r"})
	check(err)
	gone, err := rows.Get(ctx, account, "giovanni", get)
	refused(gone.Response, err, 404)

	policy := tables.AccessPolicy{Start: "2020-07-01T08:49:37.0000000Z", Expiry: "2040-07-02T09:49:37.0000000Z", Permission: "raud"}
	_, err = service.SetACL(ctx, account, "giovanni", []tables.SignedIdentifier{{Id: "writers", AccessPolicy: policy}})
	check(err)
	acl, err := service.GetACL(ctx, account, "giovanni")
	check(err)
	if len(acl.SignedIdentifiers) != 1 || acl.SignedIdentifiers[0].AccessPolicy != policy {
		panic(fmt.Sprintf("%v", acl))
	}
	_, err = service.Delete(ctx, account, "giovanni")
	check(err)
	fmt.Println("done")
}
