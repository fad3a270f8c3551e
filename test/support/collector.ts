// An OpenTelemetry collector for tests: it takes OTLP over HTTP, and reads it with the protocol's own definitions
// (test/vectors/opentelemetry) in an implementation of protocol buffers that is not ours. It answers as it is told.

import { readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { hasExtra, packagesOf } from '../../scripts/extras.ts';
import { need } from './need.ts';

type Protobuf = typeof import('../../scripts/node_modules/@bufbuild/protobuf/dist/esm/index.js');
type Wkt = typeof import('../../scripts/node_modules/@bufbuild/protobuf/dist/esm/wkt/index.js');

export const canDecode = need(
  hasExtra('scripts'),
  'an implementation of protocol buffers (npm ci --prefix scripts)',
);

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
type Json = any;

const SERVICES: Record<string, string> = {
  '/v1/traces': 'trace.v1.ExportTraceServiceRequest',
  '/v1/metrics': 'metrics.v1.ExportMetricsServiceRequest',
  '/v1/logs': 'logs.v1.ExportLogsServiceRequest',
};

/** Reads a request of protocol buffers; fields that the protocol does not have are an error. */
export async function decoder(): Promise<(path: string, bytes: Uint8Array) => Json> {
  const protobuf: Protobuf = await import(packagesOf('scripts', '@bufbuild/protobuf/dist/esm/index.js'));
  const wkt: Wkt = await import(packagesOf('scripts', '@bufbuild/protobuf/dist/esm/wkt/index.js'));
  const described = readFileSync(join(import.meta.dir, '../vectors/opentelemetry/otlp.binpb'));
  const registry = protobuf.createFileRegistry(protobuf.fromBinary(wkt.FileDescriptorSetSchema, described));
  return (path, bytes) => {
    const schema = registry.getMessage(`opentelemetry.proto.collector.${SERVICES[path]}`);
    if (schema === undefined) throw new Error(`no signal has the path ${path}`);
    const message = protobuf.fromBinary(schema, bytes);
    const size = (writeUnknownFields: boolean) =>
      protobuf.toBinary(schema, message, { writeUnknownFields }).length;
    if (size(true) !== size(false)) throw new Error('it has fields that the protocol does not have');
    return JSON.parse(JSON.stringify(protobuf.toJson(schema, message)), (name, value) =>
      /^(traceId|spanId|parentSpanId)$/.test(name) ? Buffer.from(value, 'base64').toString('hex') : value,
    );
  };
}

/**
 * A status, perhaps with `retry-after`, or something worse. `endless` is an answer of 200 whose body does not end, `bomb`
 * one whose body is small until it is decompressed.
 */
export type Manner =
  | number
  | { status: number; retryAfter: string }
  | 'hang'
  | 'endless'
  | 'bomb'
  | 'redirect';

export interface OtlpRequest {
  path: string;
  headers: Record<string, string>;
  /** As it came, and without compression. */
  bytes: Buffer;
  plain: Buffer;
  json: Json;
}

export class Collector {
  readonly requests: OtlpRequest[] = [];
  answer: (request: OtlpRequest, earlier: number) => Manner;
  #decoder: ReturnType<typeof decoder> | null = null;
  readonly #server = http.createServer((request, response) => this.#take(request, response));
  readonly #waiting = new Set<() => void>();

  private constructor(answer: Collector['answer']) {
    this.answer = answer;
  }

  static async start(answer: Collector['answer'] = () => 200): Promise<Collector> {
    const collector = new Collector(answer);
    await new Promise<void>(resolve => collector.#server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves once what came meets the condition. */
  async until(met: () => boolean): Promise<void> {
    while (!met()) await new Promise<void>(resolve => this.#waiting.add(resolve));
  }

  of(path: string): OtlpRequest[] {
    return this.requests.filter(request => request.path === path);
  }

  get spans(): Json[] {
    return this.of('/v1/traces').flatMap(({ json }) => items(json.resourceSpans, 'scopeSpans', 'spans'));
  }

  get logRecords(): Json[] {
    return this.of('/v1/logs').flatMap(({ json }) => items(json.resourceLogs, 'scopeLogs', 'logRecords'));
  }

  /** Those of the newest reading. */
  get metrics(): Json[] {
    const json = this.of('/v1/metrics').at(-1)?.json;
    return json === undefined ? [] : items(json.resourceMetrics, 'scopeMetrics', 'metrics');
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise(resolve => this.#server.close(() => resolve()));
  }

  async #take(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const headers = request.headers as Record<string, string>;
    const plain = headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
    const path = request.url ?? '';
    const json =
      headers['content-type'] === 'application/json'
        ? JSON.parse(plain.toString('utf8'))
        : await this.#decode(path, plain);
    const arrived = { path, headers, bytes, plain, json };
    const earlier = this.of(path).length;
    this.requests.push(arrived);
    this.#reply(this.answer(arrived, earlier), response);
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  async #decode(path: string, bytes: Uint8Array): Promise<Json> {
    this.#decoder ??= decoder();
    return (await this.#decoder)(path, bytes);
  }

  #reply(manner: Manner, response: http.ServerResponse): void {
    if (manner === 'hang') return;
    if (manner === 'redirect') response.writeHead(307, { location: `${this.url}/v1/traces` }).end();
    else if (manner === 'endless') pour(response.writeHead(200));
    else if (manner === 'bomb') response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb());
    else if (typeof manner === 'number') response.writeHead(manner).end();
    else response.writeHead(manner.status, { 'retry-after': manner.retryAfter }).end();
  }
}

/** 128 MB of zeros. */
const bomb = () => (packed ??= gzipSync(Buffer.alloc(128 * 1024 * 1024)));
let packed: Buffer | null = null;

const DROP = Buffer.alloc(64 * 1024, 'x');

/** Writes for as long as somebody reads. */
function pour(response: http.ServerResponse): void {
  while (!response.destroyed && response.write(DROP));
  response.once('drain', () => pour(response));
}

function items(resources: Json[], scopes: string, name: string): Json[] {
  return resources.flatMap(resource => resource[scopes].flatMap((scope: Json) => scope[name]));
}
