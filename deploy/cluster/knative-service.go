// Reads a Service of Knative as JSON and checks it as Knative's webhook does: what is wrong goes to standard output, and
// the exit code is 1.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"knative.dev/pkg/apis"
	"knative.dev/serving/pkg/apis/config"
	servingv1 "knative.dev/serving/pkg/apis/serving/v1"
)

func main() {
	service := servingv1.Service{}
	if err := json.NewDecoder(os.Stdin).Decode(&service); err != nil {
		fail(err)
	}
	settings := config.FromContextOrDefaults(context.Background())
	ctx := apis.WithinCreate(config.ToContext(context.Background(), settings))
	service.SetDefaults(ctx)
	if err := service.Validate(ctx).Filter(apis.ErrorLevel); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Println(err)
	os.Exit(1)
}
