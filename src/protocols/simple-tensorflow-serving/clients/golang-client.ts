import type { ClientParts } from "./client-parts.ts";

/** A program for Go. The request is a raw text between backquotes. */
export function golangClient({ endpoint, json }: ClientParts): string {
  return `// Sends an example of a request and prints the answer: go run client.go
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
)

const endpoint = "${endpoint}"

const request = \`${json}\`

func main() {
	response, err := http.Post(endpoint, "application/json", strings.NewReader(request))
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		log.Fatalf("%s: %s", response.Status, body)
	}
	fmt.Print(string(body))
}
`;
}
