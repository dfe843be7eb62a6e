// Stands in for livenessprobe, which is not served as a module: /healthz is what the driver answers to Probe.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

func main() {
	address := flag.String("csi-address", "/csi/csi.sock", "where the driver listens")
	listen := flag.String("http-endpoint", "", "where the kubelet asks")
	timeout := flag.Duration("probe-timeout", time.Second, "for one Probe")
	flag.Parse()

	target := "unix://" + strings.TrimPrefix(*address, "unix://")
	connection, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	driver := csi.NewIdentityClient(connection)
	http.HandleFunc("/healthz", func(answer http.ResponseWriter, request *http.Request) {
		within, cancel := context.WithTimeout(request.Context(), *timeout)
		defer cancel()
		said, err := driver.Probe(within, &csi.ProbeRequest{})
		if err != nil || said.Ready != nil && !said.Ready.Value {
			http.Error(answer, "not ready", http.StatusInternalServerError)
		}
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
