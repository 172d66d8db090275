// A round trip of Microsoft's first Go client, the package storage of azure-sdk-for-go.
// Arguments: the server's address, its account, its key.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/storage"
	"github.com/gofrs/uuid"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func equal(got, want interface{}) {
	if !reflect.DeepEqual(got, want) {
		panic(fmt.Sprintf("%#v is not %#v", got, want))
	}
}

func refused(err error, text string) {
	if err == nil || !strings.Contains(err.Error(), text) {
		panic(fmt.Sprintf("%v is not %s", err, text))
	}
}

func main() {
	address, account, key := os.Args[1], os.Args[2], os.Args[3]
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	byHost, err := storage.NewClient(account, key, "localhost", "2019-02-02", false)
	check(err)
	byPath, err := storage.NewEmulatorClient()
	check(err)
	for name, client := range map[string]storage.Client{"byhost": byHost, "bypath": byPath} {
		client.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: dial}}
		roundTrip(client.GetTableService(), name)
	}
	fmt.Println("done")
}

func roundTrip(service storage.TableServiceClient, name string) {
	table := service.GetTableReference(name)
	check(table.Create(30, storage.EmptyPayload, nil))
	refused(table.Create(30, storage.FullMetadata, nil), "TableAlreadyExists")
	check(table.Get(30, storage.FullMetadata))
	tables, err := service.QueryTables(storage.MinimalMetadata, nil)
	check(err)
	if len(tables.Tables) == 0 {
		panic("no tables")
	}

	ann := table.GetEntityReference("race 2026", "ann+é %")
	ann.Properties = map[string]interface{}{
		"Born":  time.Date(1971, 2, 3, 4, 5, 6, 789000000, time.UTC),
		"Chip":  int64(12345678901234),
		"Id":    uuid.FromStringOrNil("0f8fad5b-d9cb-469f-a165-70867728950e"),
		"Note":  "é\U0001F3C3 <&>",
		"Paid":  true,
		"Photo": []byte{0, 1, 255},
		"Share": 0.5,
	}
	check(ann.Insert(storage.FullMetadata, nil))
	refused(ann.Insert(storage.EmptyPayload, nil), "EntityAlreadyExists")
	read := table.GetEntityReference("race 2026", "ann+é %")
	check(read.Get(30, storage.FullMetadata, nil))
	equal(read.Properties, ann.Properties)
	if read.OdataEtag == "" || read.TimeStamp.IsZero() || !strings.Contains(read.OdataEditLink, "race%202026") {
		panic(fmt.Sprintf("%+v", read))
	}
	some := table.GetEntityReference("race 2026", "ann+é %")
	check(some.Get(30, storage.FullMetadata, &storage.GetEntityOptions{Select: []string{"Chip"}}))
	equal(some.Properties, map[string]interface{}{"Chip": int64(12345678901234)})

	stale := read.OdataEtag
	read.Properties["Chip"] = int64(5)
	check(read.Merge(false, nil))
	read.OdataEtag = stale
	refused(read.Update(false, nil), "UpdateConditionNotSatisfied")
	check(read.Update(true, nil))
	other := table.GetEntityReference("p", "r")
	other.Properties = map[string]interface{}{"A": "1"}
	check(other.InsertOrMerge(nil))
	other.Properties = map[string]interface{}{"B": "2"}
	check(other.InsertOrReplace(nil))
	check(other.Get(30, storage.FullMetadata, nil))
	equal(other.Properties, map[string]interface{}{"B": "2"})
	check(other.Delete(false, nil))
	refused(other.Delete(true, nil), "ResourceNotFound")

	many := table.NewBatch()
	for n := 0; n < 100; n++ {
		row := table.GetEntityReference("many", fmt.Sprintf("%03d", n))
		row.Properties = map[string]interface{}{"N": int64(n)}
		many.InsertOrReplaceEntity(row, true)
	}
	check(many.ExecuteBatch())
	clash := table.NewBatch()
	clash.InsertEntity(table.GetEntityReference("many", "new"))
	clash.InsertEntity(table.GetEntityReference("many", "000"))
	refused(clash.ExecuteBatch(), "EntityAlreadyExists")
	mixed := table.NewBatch()
	mixed.MergeEntity(table.GetEntityReference("many", "000"))
	mixed.DeleteEntity(table.GetEntityReference("many", "001"), true)
	check(mixed.ExecuteBatch())

	filter := storage.QueryOptions{Filter: "PartitionKey eq 'many' and N ge 90L", Top: 4, Select: []string{"N"}}
	page, err := table.QueryEntities(30, storage.FullMetadata, &filter)
	check(err)
	found := []interface{}{}
	for {
		for _, row := range page.Entities {
			found = append(found, row.Properties["N"])
		}
		if page.NextLink == nil {
			break
		}
		page, err = page.NextResults(nil)
		check(err)
	}
	equal(len(found), 10)
	equal(found[9], int64(99))

	until := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
	policy := storage.TableAccessPolicy{ID: "readers", StartTime: time.Now().UTC(), ExpiryTime: until, CanRead: true}
	check(table.SetPermissions([]storage.TableAccessPolicy{policy}, 30, nil))
	policies, err := table.GetPermissions(30, nil)
	check(err)
	equal(policies[0].ID, "readers")
	equal(policies[0].CanRead, true)
	properties, err := service.GetServiceProperties()
	check(err)
	check(service.SetServiceProperties(*properties))
	check(table.Delete(30, nil))
	refused(table.Delete(30, nil), "ResourceNotFound")
}
