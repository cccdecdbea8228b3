// Asks the model m of a server for its answers in parts, with the stubs that protoc-gen-go-grpc makes. Prints a line for
// each check that fails, and then how many passed.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"time"

	pb "stream/inference"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const tooLong = 20 * time.Second

func request(id string, values ...float32) *pb.ModelInferRequest {
	var raw []byte
	for _, value := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(value))
	}
	tensor := &pb.ModelInferRequest_InferInputTensor{Name: "x", Datatype: "FP32", Shape: []int64{int64(len(values))}}
	return &pb.ModelInferRequest{
		ModelName: "m", Id: id,
		Inputs:           []*pb.ModelInferRequest_InferInputTensor{tensor},
		RawInputContents: [][]byte{raw},
	}
}

func withEnd(of *pb.ModelInferRequest) *pb.ModelInferRequest {
	yes := &pb.InferParameter{ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: true}}
	of.Parameters = map[string]*pb.InferParameter{"triton_enable_empty_final_response": yes}
	return of
}

// A message as text: its id and number, with ! if nothing follows to its request, or its error.
func told(message *pb.ModelStreamInferResponse) string {
	if message.ErrorMessage != "" {
		return "error of " + message.GetInferResponse().GetId()
	}
	answer := message.InferResponse
	text := answer.Id
	for _, raw := range answer.RawOutputContents {
		text += fmt.Sprint(" ", math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	if answer.Parameters["triton_final_response"].GetBoolParam() {
		text += "!"
	}
	return text
}

type stream = grpc.BidiStreamingClient[pb.ModelInferRequest, pb.ModelStreamInferResponse]

func rest(of stream) ([]string, error) {
	var all []string
	for {
		message, err := of.Recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, told(message))
	}
}

type client struct {
	pb.GRPCInferenceServiceClient
}

// Sends all requests at once, and reads all messages.
func (one client) ask(ctx context.Context, requests ...*pb.ModelInferRequest) ([]string, error) {
	asked, err := one.ModelStreamInfer(ctx)
	if err != nil {
		return nil, err
	}
	for _, each := range requests {
		if err := asked.Send(each); err != nil {
			return nil, err
		}
	}
	if err := asked.CloseSend(); err != nil {
		return nil, err
	}
	return rest(asked)
}

func of(all []string, id string) (own []string) {
	for _, text := range all {
		if text[:1] == id {
			own = append(own, text)
		}
	}
	return own
}

func expect(what string, got any, wanted any) error {
	if reflect.DeepEqual(got, wanted) {
		return nil
	}
	return fmt.Errorf("%s: got %v, expected %v", what, got, wanted)
}

func (one client) parts(ctx context.Context) error {
	all, err := one.ask(ctx, request("a", 4, 2, 7))
	return errors.Join(err, expect("parts", all, []string{"a 4", "a 2", "a 7"}))
}

func (one client) severalRequests(ctx context.Context) error {
	all, err := one.ask(ctx, withEnd(request("a", 1, 2)), withEnd(request("b", 3)), withEnd(request("c")))
	return errors.Join(err,
		expect("a", of(all, "a"), []string{"a 1", "a 2", "a!"}),
		expect("b", of(all, "b"), []string{"b 3", "b!"}),
		expect("c", of(all, "c"), []string{"c!"}))
}

func (one client) errorAmongOthers(ctx context.Context) error {
	all, err := one.ask(ctx, request("a", 1, 13), request("b", 2))
	return errors.Join(err, expect("messages", len(all), 3), expect("b", of(all, "b"), []string{"b 2"}),
		expect("error", of(all, "e"), []string{"error of a"}))
}

func (one client) errorAsStatus(ctx context.Context) error {
	all, err := one.ask(metadata.AppendToOutgoingContext(ctx, "triton_grpc_error", "true"), request("a", 1, 13))
	return errors.Join(expect("parts", all, []string{"a 1"}), expect("status", status.Code(err), codes.Internal))
}

func (one client) deadline(ctx context.Context) error {
	short, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	all, err := one.ask(short, request("a", 1, 0))
	return errors.Join(expect("parts", all, []string{"a 1"}), expect("status", status.Code(err), codes.DeadlineExceeded))
}

func (one client) leave(ctx context.Context) error {
	leaving, leave := context.WithCancel(ctx)
	defer leave()
	asked, err := one.ModelStreamInfer(leaving)
	if err != nil {
		return err
	}
	if err := asked.Send(request("a", 1, 0)); err != nil {
		return err
	}
	first, err := asked.Recv()
	if err != nil {
		return err
	}
	leave()
	_, end := asked.Recv()
	return errors.Join(expect("part", told(first), "a 1"), expect("status", status.Code(end), codes.Canceled))
}

func (one client) unary(ctx context.Context) error {
	_, several := one.ModelInfer(ctx, request("a", 1, 2))
	answer, err := one.ModelInfer(ctx, request("a", 1))
	return errors.Join(err, expect("status", status.Code(several), codes.Unimplemented),
		expect("outputs", len(answer.GetOutputs()), 1))
}

func (one client) config(ctx context.Context) error {
	answer, err := one.ModelConfig(ctx, &pb.ModelConfigRequest{Name: "m"})
	return errors.Join(err, expect("decoupled", answer.GetConfig().GetModelTransactionPolicy().GetDecoupled(), true))
}

func main() {
	connection, err := grpc.NewClient(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	one := client{pb.NewGRPCInferenceServiceClient(connection)}
	checks := map[string]func(context.Context) error{
		"parts": one.parts, "several requests": one.severalRequests, "error among others": one.errorAmongOthers,
		"error as status": one.errorAsStatus, "deadline": one.deadline, "leave": one.leave, "unary": one.unary,
		"config": one.config,
	}
	passed := 0
	for name, check := range checks {
		ctx, stop := context.WithTimeout(context.Background(), tooLong)
		if err := check(ctx); err != nil {
			fmt.Printf("%s: %v\n", name, err)
		} else {
			passed++
		}
		stop()
	}
	fmt.Printf("%d of %d passed\n", passed, len(checks))
	if passed < len(checks) {
		os.Exit(1)
	}
}
