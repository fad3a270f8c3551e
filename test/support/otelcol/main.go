// The OTLP receiver of the OpenTelemetry Collector, on the address given. It prints what it received: one line of JSON
// for each request, in the collector's own words.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
)

var printing sync.Mutex

func show(line []byte, err error) error {
	if err != nil {
		return err
	}
	printing.Lock()
	defer printing.Unlock()
	_, err = fmt.Println(string(line))
	return err
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	http := map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": os.Args[1]}}}
	if err := confmap.NewFromStringMap(http).Unmarshal(config); err != nil {
		must(0, err)
	}
	settings := receiver.Settings{
		ID:                component.NewID(factory.Type()),
		TelemetrySettings: componenttest.NewNopTelemetrySettings(),
	}
	traces := must(consumer.NewTraces(func(_ context.Context, all ptrace.Traces) error {
		return show((&ptrace.JSONMarshaler{}).MarshalTraces(all))
	}))
	metrics := must(consumer.NewMetrics(func(_ context.Context, all pmetric.Metrics) error {
		return show((&pmetric.JSONMarshaler{}).MarshalMetrics(all))
	}))
	logs := must(consumer.NewLogs(func(_ context.Context, all plog.Logs) error {
		return show((&plog.JSONMarshaler{}).MarshalLogs(all))
	}))
	// All three are one receiver, which is started once.
	one := must(factory.CreateTraces(ctx, settings, config, traces))
	must(factory.CreateMetrics(ctx, settings, config, metrics))
	must(factory.CreateLogs(ctx, settings, config, logs))
	if err := one.Start(ctx, componenttest.NewNopHost()); err != nil {
		must(0, err)
	}
	fmt.Println("ready")
	<-ctx.Done()
	one.Shutdown(context.Background())
}
