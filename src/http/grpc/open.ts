// Opens the port for gRPC, if the settings name one. HTTP/2 is loaded only then.

import { type Config, ConfigError } from '../../settings/config.ts';
import type { Serving } from '../server.ts';
import { CHECK_PATH, check, unreadable } from './check.ts';
import type { GrpcListener, Metadata } from './listener.ts';

/** The room for the headers of a request, which a message carries besides the body. */
const HEADERS = 256 * 1024;

/** Null unless a port is set for it. */
export async function openGrpc(
  { host, grpcPort: port, checkBodyLimit }: Config,
  ask: Serving['ask'],
  reusePort: boolean,
): Promise<GrpcListener | null> {
  if (port === null) return null;
  const answer = (message: Uint8Array, metadata: Metadata) => check(message, ask, metadata);
  const maxMessage = checkBodyLimit + HEADERS;
  const refusal = await unreadable();
  const options = { host, port, reusePort, path: CHECK_PATH, maxMessage, answer, refusal };
  const { GrpcListener } = await import('./listener.ts');
  return GrpcListener.open(options).catch(error => {
    throw new ConfigError(`TOOLGATE_GRPC_PORT is ${port}: nobody can listen there (${error.code}).`);
  });
}
