// Asks a planwrightd for a plan of BERT-large on four accelerators, and prints which device holds how many operators.
//
//	go run docs/examples/plan.go HOST:PORT
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"google.golang.org/grpc"
	planwright "planwright/v1"
)

func main() {
	connection, err := grpc.Dial(os.Args[1], grpc.WithInsecure())
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	// The search ends early enough for the answer to arrive within the deadline.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	response, err := planwright.NewPlanningServiceClient(connection).CreatePlan(ctx, &planwright.CreatePlanRequest{
		GraphSource:   &planwright.CreatePlanRequest_GraphReference{GraphReference: "zoo:bert-large"},
		ClusterSource: &planwright.CreatePlanRequest_ClusterReference{ClusterReference: "zoo:pcie:4"},
	})
	if err != nil {
		log.Fatal(err)
	}
	plan := response.Plan
	fmt.Printf("%.3f ms per micro-batch, at least %.3f ms\n", plan.ObjectiveMs, plan.LowerBoundMs)
	for _, stage := range plan.Stages {
		fmt.Printf("  %s: %d operators\n", stage.Replicas[0].Device, len(stage.Operators))
	}
}
