import { execFile } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { hasProgram } from "../../helpers/has-program.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { startAwkwardServer } from "../../protocols/simple-tensorflow-serving/awkward-names.ts";
import { runCommand } from "../commands/run-command.ts";
import { clientModels } from "./client-models.ts";

const LIMIT = { timeout: 300_000 };
const run = promisify(execFile);

/** A module of Go with a program and the client of a server. */
async function writeModule(httpUrl: string, program: string): Promise<string> {
  const folder = tempFolder({ "go.mod": "module example\n\ngo 1.22\n", "main.go": program });
  mkdirSync(join(folder, "models"));
  const written = await runCommand(["client", httpUrl, "--out", join(folder, "models/models.go")]);
  expect(written).toMatchObject({ code: 0 });
  expect((await run("gofmt", ["-l", "models"], { cwd: folder })).stdout).toBe("");
  return folder;
}

const PROGRAM = `package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"time"

	"example/models"
)

func list[T models.Element](values ...T) models.Tensor[T] {
	return models.Tensor[T]{Data: values}
}

func main() {
	header := map[string][]string{"X-Who": {"tests"}}
	client := &models.Client{Address: os.Args[1] + "/", Header: header}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	seen := []any{}
	half, err := client.Half(ctx, models.HalfInputs{X: list[float32](1, 2.5)})
	seen = append(seen, half.Y.Shape, half.Y.Data, err)

	inputs := models.EveryTypeInputs{
		InBool: list(true, false), InInt8: list[int8](-1), InInt16: list[int16](-2), InInt32: list[int32](-3),
		InInt64: list[int64](-1 << 62), InUint8: list[uint8](255), InUint16: list[uint16](65535),
		InUint32: list[uint32](1<<32 - 1), InUint64: list[uint64](1<<64 - 1), InFloat16: list[models.Float16](0x3c00),
		InBfloat16: list[models.BFloat16](0x3f80), InFloat32: list[float32](0.25), InFloat64: list(0.1),
		InBytes: list([]byte("hü"), []byte{255, 0}),
	}
	every, err := client.EveryType(ctx, inputs)
	given, got := reflect.ValueOf(inputs), reflect.ValueOf(every)
	for index := range given.NumField() {
		data := func(value reflect.Value) any { return value.Field(index).FieldByName("Data").Interface() }
		if !reflect.DeepEqual(data(given), data(got)) {
			seen = append(seen, fmt.Sprint(data(got)))
		}
	}
	seen = append(seen, err)

	photo, _ := os.ReadFile(os.Args[2])
	note := models.Tensor[[]byte]{Shape: []int64{1, 1}, Data: [][]byte{[]byte("a")}}
	pixels, err := client.HeaderModel(ctx, models.HeaderModelInputs{Photo: models.Files[uint8](photo), Note: note})
	seen = append(seen, len(pixels.Photo.Shape), string(pixels.Note.Data[0]), err)

	small, err := client.Small(ctx, models.SmallInputs{N: list[int8](1)})
	seen = append(seen, string(small["who"].(models.Tensor[[]byte]).Data[0]), err)
	far, stop := context.WithTimeout(context.Background(), 1000*time.Hour)
	empty, err := client.Half(far, models.HalfInputs{X: models.Tensor[float32]{Data: []float32{}}})
	stop()
	seen = append(seen, empty.Y.Shape, len(empty.Y.Data), err)
	untyped, err := client.Any(ctx, map[string]models.Value{"x": list[float32](1)})
	seen = append(seen, untyped["x"].(models.Tensor[float32]).Data, err)

	answer := &models.Error{}
	_, err = client.Infer(ctx, "none", map[string]models.Value{"x": list[float32](1)})
	seen = append(seen, errors.As(err, &answer), answer.Status)
	_, err = client.Half(ctx, models.HalfInputs{})
	seen = append(seen, errors.As(err, &answer), answer.Status)
	_, err = (&models.Client{Address: "http://127.0.0.1:4"}).Half(ctx, models.HalfInputs{X: list[float32](1)})
	seen = append(seen, err != nil)
	counted := []int32{}
	takeOne := func(part models.CountOutputs) error {
		counted = append(counted, part.Value.Data...)
		return nil
	}
	err = client.CountStream(ctx, models.CountInputs{To: list[int32](2), Fails: list(true)}, takeOne)
	seen = append(seen, counted, errors.As(err, &answer), answer.Status, answer.Text, answer.Code)
	enough := errors.New("enough")
	leave := func(part models.CountOutputs) error { return enough }
	err = client.CountStream(ctx, models.CountInputs{To: list[int32](1 << 30), Fails: list(false)}, leave)
	seen = append(seen, errors.Is(err, enough))
	texts := []string{}
	err = client.SpellStream(ctx, map[string]models.Value{"x": list[float32](1)}, func(part map[string]models.Value) error {
		for _, text := range part["text"].(models.Tensor[[]byte]).Data {
			texts = append(texts, fmt.Sprintf("%q", text))
		}
		return nil
	})
	seen = append(seen, texts, err)
	inputs.InFloat16 = list[models.Float16](0x3c00, 0x0001, 0x7bff, 0xfc00, 0x8400, 0x03ff)
	inputs.InBfloat16 = list[models.BFloat16](0x3f80, 0xc2f7)
	inputs.InFloat32 = list(float32(math.Inf(-1)), 0.1, 1e-40)
	parts := 0
	err = client.TwiceStream(ctx, models.TwiceInputs(inputs), func(part models.TwiceOutputs) error {
		parts++
		got := reflect.ValueOf(part)
		for index := range given.NumField() {
			data := func(value reflect.Value) any { return value.Field(index).FieldByName("Data").Interface() }
			if !reflect.DeepEqual(data(reflect.ValueOf(inputs)), data(got)) {
				seen = append(seen, fmt.Sprint(data(got)))
			}
		}
		return nil
	})
	seen = append(seen, parts, err)
	err = client.Stream(ctx, "none", map[string]models.Value{"x": list[float32](1)}, nil)
	seen = append(seen, errors.As(err, &answer), answer.Status)
	cancel()
	_, err = client.Half(ctx, models.HalfInputs{X: list[float32](1)})
	seen = append(seen, errors.Is(err, context.Canceled))
	text, _ := json.Marshal(seen)
	fmt.Println(string(text))
}
`;

describe.skipIf(!hasProgram("gofmt", "golang-go"))("the client in Go", () => {
  it("carries every datatype, files, headers, parts and errors", LIMIT, async () => {
    const log = join(tempFolder({ log: "" }), "log");
    const { httpUrl } = await startServer({ models: clientModels(log) });
    const cwd = await writeModule(httpUrl, PROGRAM);
    const { stdout } = await run("go", ["run", ".", httpUrl, resolve("examples/photos/page.png")], { cwd });
    expect(JSON.parse(stdout)).toEqual([
      ...[[2], [2.5, 3.25], null],
      null,
      ...[4, "a", null],
      ...["tests", null],
      ...[[0], 0, null],
      ...[[1], null],
      ...[true, 404],
      ...[true, 400],
      true,
      ...[[0, 1], true, 200, "The hook process failed: there is no third", "internal"],
      true,
      ...[['"a"', '"b"', '"hü"', '"\\xff\\x00"'], null],
      ...[2, null],
      ...[true, 404],
      true,
    ]);
    await expect.poll(() => readFileSync(log, "utf8")).toBe("left\n");
  });

  it("compiles for models and inputs of any names", LIMIT, async () => {
    const { httpUrl } = await startAwkwardServer();
    const main = 'package main\n\nimport "example/models"\n\nfunc main() {\n\t_ = models.Client{}\n}\n';
    await run("go", ["vet", "./..."], { cwd: await writeModule(httpUrl, main) });
  });
});
