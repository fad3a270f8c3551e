// Reads all items of an upstream's paged list, within bounds. What a server lists is kept, compared and shown to
// clients, and the event loop answers nobody else while that is done.

import { isObject, type Json, type JsonObject, writeJson } from '../core/wire/json.ts';
import type { Upstream } from './upstream.ts';
import type { RequestOptions } from './upstream-request.ts';
import { UpstreamError } from './wire.ts';

const MAX_PAGES = 100;
const MAX_ITEMS = 2000;
const MAX_MIB = 4;

export async function listAll(
  upstream: Upstream,
  method: string,
  field: string,
  asking: RequestOptions,
): Promise<{ items: JsonObject[]; bytes: number }> {
  const items: JsonObject[] = [];
  let bytes = 0;
  let cursor: Json | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { result, error } = await upstream.request(method, cursor === undefined ? {} : { cursor }, asking);
    if (result === null) throw upstream.refusal(method, error);
    bytes += writeJson(result).length;
    if (bytes > MAX_MIB * 1024 * 1024) throw tooLong(method, `${MAX_MIB} MiB`);
    const here = result[field];
    for (const item of Array.isArray(here) ? here : []) if (isObject(item)) items.push(item);
    if (items.length > MAX_ITEMS) throw tooLong(method, `${MAX_ITEMS} items`);
    cursor = result['nextCursor'];
    if (typeof cursor !== 'string') return { items, bytes };
  }
  throw tooLong(method, `${MAX_PAGES} pages`);
}

function tooLong(method: string, bound: string): UpstreamError {
  return new UpstreamError(
    `the upstream answers ${method} with more than ${bound}, so nothing of it is taken`,
  );
}
