// Stands in for node-driver-registrar, which is not served as a module: tells the kubelet where the driver
// of the node listens, and answers a probe.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

type registrar struct {
	registration.UnimplementedRegistrationServer
	info *registration.PluginInfo
}

func (r *registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return r.info, nil
}

func (r *registrar) NotifyRegistrationStatus(_ context.Context, said *registration.RegistrationStatus) (
	*registration.RegistrationStatusResponse, error) {
	if !said.PluginRegistered {
		log.Fatal(said.Error)
	}
	return &registration.RegistrationStatusResponse{}, nil
}

func nameOfDriver(address string) string {
	connection, err := grpc.NewClient("unix://"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	info, err := csi.NewIdentityClient(connection).GetPluginInfo(context.Background(),
		&csi.GetPluginInfoRequest{}, grpc.WaitForReady(true))
	if err != nil {
		log.Fatal(err)
	}
	return info.Name
}

func main() {
	address := flag.String("csi-address", "/csi/csi.sock", "where the driver listens")
	path := flag.String("kubelet-registration-path", "", "the same as the kubelet names it")
	probe := flag.String("http-endpoint", "", "where the kubelet probes this program")
	flag.Parse()

	name := nameOfDriver(*address)
	socket := "/registration/" + name + "-reg.sock"
	os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	go func() { log.Fatal(http.ListenAndServe(*probe, nil)) }()
	server := grpc.NewServer()
	registration.RegisterRegistrationServer(server, &registrar{info: &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: name, Endpoint: *path, SupportedVersions: []string{"1.0.0"}}})
	log.Fatal(server.Serve(listener))
}
