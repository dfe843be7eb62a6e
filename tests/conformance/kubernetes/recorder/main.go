// Stands between a socket and the driver: passes each call on as it is, and appends a line about it to a
// file: method, seconds of its deadline, request, answer, code, and when it began and ended.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Messages as bytes.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(value any) ([]byte, error) { return *value.(*[]byte), nil }

func (raw) Unmarshal(data []byte, value any) error {
	*value.(*[]byte) = append([]byte(nil), data...)
	return nil
}

type call struct {
	Method  string  `json:"method"`
	Within  float64 `json:"within"`
	Began   float64 `json:"began"`
	Ended   float64 `json:"ended"`
	Request []byte  `json:"request"`
	Answer  []byte  `json:"answer"`
	Code    string  `json:"code"`
	Message string  `json:"message"`
}

type recorder struct {
	driver *grpc.ClientConn
	lock   sync.Mutex
	lines  *json.Encoder
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

func (r *recorder) pass(_ any, stream grpc.ServerStream) error {
	seen := call{Began: seconds(time.Now())}
	seen.Method, _ = grpc.MethodFromServerStream(stream)
	if deadline, ok := stream.Context().Deadline(); ok {
		seen.Within = time.Until(deadline).Seconds()
	}
	if err := stream.RecvMsg(&seen.Request); err != nil && err != io.EOF {
		return err
	}
	err := r.driver.Invoke(stream.Context(), seen.Method, &seen.Request, &seen.Answer)
	seen.Ended = seconds(time.Now())
	seen.Code = status.Code(err).String()
	seen.Message = status.Convert(err).Message()
	r.lock.Lock()
	if wrong := r.lines.Encode(&seen); wrong != nil {
		log.Print(wrong)
	}
	r.lock.Unlock()
	if err != nil {
		return err
	}
	return stream.SendMsg(&seen.Answer)
}

func main() {
	listen := flag.String("listen", "", "socket for those who call")
	driver := flag.String("driver", "", "socket of the driver")
	path := flag.String("file", "", "where the lines go")
	flag.Parse()

	file, err := os.OpenFile(*path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	connection, err := grpc.NewClient("unix://"+*driver,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	if err != nil {
		log.Fatal(err)
	}
	os.Remove(*listen)
	listener, err := new(net.ListenConfig).Listen(context.Background(), "unix", *listen)
	if err != nil {
		log.Fatal(err)
	}
	r := &recorder{driver: connection, lines: json.NewEncoder(file)}
	server := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.UnknownServiceHandler(r.pass))
	fmt.Println("ready")
	log.Fatal(server.Serve(listener))
}
