// A pinned address: used under the name that was asked for, for half a minute, then looked up and checked anew.

import { afterAll, expect, test } from 'bun:test';
import { PinnedFetch } from '../../../src/guard/outgoing/pinned-fetch.ts';

const heard: string[] = [];
const answer = (request: Request) => {
  heard.push(`${request.headers.get('host')} ${new URL(request.url).pathname}`);
  return new Response('here');
};
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer });
afterAll(() => server.stop(true));

const PIN_MS = 30_000;

test('a name is looked up once for as long as its pin lasts, and then again, whatever it stands for by then', async () => {
  let now = 0;
  const lookUps: string[] = [];
  let address = '127.0.0.1';
  const resolve = async (host: string) => {
    lookUps.push(host);
    return [{ address }];
  };
  const pinned = new PinnedFetch({ allowPrivate: true }, { resolve, now: () => now });
  const url = `http://tools.example:${server.port}/mcp`;
  const ask = () => pinned.fetch(url, { headers: {} }).then(response => response.text());

  expect(await ask()).toBe('here');
  now = PIN_MS - 1;
  // From here on the name leads elsewhere: to where nothing may be sent.
  address = '169.254.169.254';
  expect(await ask()).toBe('here');
  expect(lookUps).toEqual(['tools.example']);
  expect(heard).toEqual(Array(2).fill(`tools.example:${server.port} /mcp`));

  now = PIN_MS;
  await expect(ask()).rejects.toThrow('link-local');
  expect(lookUps).toHaveLength(2);
  address = '127.0.0.1';
  expect(await ask()).toBe('here');
  expect(lookUps).toHaveLength(3);
});

test('a name is reached at the next of its addresses where the first takes no connection', async () => {
  const other = Bun.serve({ hostname: '127.0.0.2', port: 0, fetch: answer });
  const resolve = async () => [{ address: '127.0.0.1' }, { address: '127.0.0.2' }];
  const pinned = new PinnedFetch({ allowPrivate: true }, { resolve });
  const response = await pinned.fetch(`http://tools.example:${other.port}/`, { headers: {} });
  expect(await response.text()).toBe('here');
  await other.stop(true);
});
