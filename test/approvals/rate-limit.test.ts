// The limit on the approve endpoints: 100 requests a minute per client, both together. Who the client is, is
// the socket's address, unless a trusted proxy names it; an IPv6 client counts by its /64.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import ipaddr from 'ipaddr.js';
import { mintToken } from '../../src/guard/secrets.ts';
import { clientIp } from '../../src/http/serving/client-ip.ts';
import type { Cidr } from '../../src/settings/setting-readers.ts';
import { newDataDir } from '../support/faults.ts';
import { engines, type Reply, startService, type TestService } from '../support/service.ts';

const PER_MINUTE = 100;
const TOKEN = mintToken('approval').token;

const minute = () => Math.floor(Date.now() / 60_000);

/**
 * Counts are per minute of the clock: begins where the work, of a second or two, falls into one of them. Where it did not
 * all the same, it begins anew with the next.
 */
async function withinOneMinute(work: () => Promise<void>): Promise<void> {
  for (;;) {
    while (Date.now() % 60_000 > 40_000) await Bun.sleep(100);
    const begun = minute();
    try {
      return await work();
    } catch (error) {
      const ended = minute();
      if (ended === begun) throw error;
      while (minute() === ended) await Bun.sleep(100);
    }
  }
}

const METHODS = ['GET', 'POST', 'HEAD'];

async function spend(service: TestService, count: number, headers: () => Record<string, string>) {
  const replies: Reply[] = [];
  for (let index = 0; index < count; index++) {
    const method = METHODS[index % METHODS.length] as string;
    const post = {
      body: '{"action":"approve"}',
      headers: { ...headers(), 'Content-Type': 'application/json' },
    };
    replies.push(
      await service.request(
        method,
        `/v1/approve/${TOKEN}`,
        method === 'POST' ? post : { headers: headers() },
      ),
    );
  }
  return replies.map(each => each.status);
}

let fresh = 0;
/** A client address nobody has used yet. */
const someone = () => `198.51.${Math.floor(++fresh / 250)}.${(fresh % 250) + 1}`;

describe('a client reached directly', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());

  test('gets 429 after 100 requests of any kind, whatever it says in X-Forwarded-For', async () => {
    await withinOneMinute(async () => {
      const statuses = await spend(service, PER_MINUTE, () => ({ 'X-Forwarded-For': someone() }));
      expect(statuses.every(status => status === 404)).toBe(true);
      expect(await spend(service, 3, () => ({ 'X-Forwarded-For': someone() }))).toEqual([429, 429, 429]);
      const json = await service.json('POST', `/v1/approve/${TOKEN}`, null, { action: 'approve' });
      expect([json.status, json.body.code]).toEqual([429, 'rate_limited']);
      expect(Number(json.headers.get('retry-after'))).toBeWithin(1, 61);
      const page = await service.request('GET', `/v1/approve/${TOKEN}`);
      expect(page.headers.get('content-type')).toStartWith('text/html');
      expect(Number(page.headers.get('retry-after'))).toBeWithin(1, 61);
      const other = await service.json('GET', '/v1/sessions', null);
      expect(other.status).toBe(401);
    });
  });
});

describe('clients behind a trusted proxy', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ env: { TOOLGATE_TRUSTED_PROXIES: '127.0.0.1/32, 192.0.2.0/24' } });
  });
  afterAll(() => service.close());

  test('are counted apart', async () => {
    await withinOneMinute(async () => {
      const [one, two] = [someone(), someone()];
      await spend(service, PER_MINUTE, () => ({ 'X-Forwarded-For': one }));
      expect(await spend(service, 1, () => ({ 'X-Forwarded-For': one }))).toEqual([429]);
      expect(await spend(service, 1, () => ({ 'X-Forwarded-For': two }))).toEqual([404]);
    });
  });

  test('cannot hide behind entries that they wrote themselves', async () => {
    await withinOneMinute(async () => {
      const me = someone();
      const forged = () => ({ 'X-Forwarded-For': `${someone()}, ${me}, 192.0.2.7` });
      const statuses = await spend(service, PER_MINUTE + 1, forged);
      expect(statuses.filter(status => status === 429)).toHaveLength(1);
    });
  });

  test('share one count per IPv6 /64', async () => {
    await withinOneMinute(async () => {
      const net = `2001:db8:0:${(++fresh).toString(16)}`;
      let host = 0;
      const neighbour = () => ({ 'X-Forwarded-For': `${net}::${(++host).toString(16)}` });
      const statuses = await spend(service, PER_MINUTE + 1, neighbour);
      expect(statuses.filter(status => status === 429)).toHaveLength(1);
    });
  });
});

const onPostgres = (await engines()).includes('postgres');

describe('replicas', () => {
  test.if(onPostgres)('count a client together', async () => {
    const env = { TOOLGATE_TRUSTED_PROXIES: '127.0.0.1/32' };
    const one = await startService({ engine: 'postgres', env });
    const dataDir = newDataDir();
    const two = await startService({ databaseUrl: one.databaseUrl, dataDir, env });
    try {
      await withinOneMinute(async () => {
        const me = someone();
        const mine = () => ({ 'X-Forwarded-For': me });
        const first = await spend(one, 70, mine);
        const second = await spend(two, 70, mine);
        expect([...first, ...second].filter(status => status === 404)).toHaveLength(PER_MINUTE);
        expect(await spend(one, 3, mine)).toEqual([429, 429, 429]);
        expect(await spend(one, 1, () => ({ 'X-Forwarded-For': someone() }))).toEqual([404]);
      });
    } finally {
      await one.close();
      await two.close();
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});

describe('whose request it is', () => {
  const trust = (...networks: string[]): Cidr[] => networks.map(each => ipaddr.parseCIDR(each));
  const CASES: [string, string | null, Cidr[], string][] = [
    ['203.0.113.9', null, [], '203.0.113.9'],
    ['203.0.113.9', '1.1.1.1', [], '203.0.113.9'],
    ['203.0.113.9', '1.1.1.1', trust('127.0.0.1/32'), '203.0.113.9'],
    ['127.0.0.1', '1.1.1.1', trust('127.0.0.1/32'), '1.1.1.1'],
    ['127.0.0.1', '9.9.9.9, 1.1.1.1', trust('127.0.0.1/32'), '1.1.1.1'],
    ['127.0.0.1', '9.9.9.9, 1.1.1.1, 10.2.3.4', trust('127.0.0.1/32', '10.0.0.0/8'), '1.1.1.1'],
    ['127.0.0.1', '10.9.9.9, 10.2.3.4', trust('127.0.0.1/32', '10.0.0.0/8'), '10.9.9.9'],
    ['127.0.0.1', null, trust('127.0.0.1/32'), '127.0.0.1'],
    ['127.0.0.1', '', trust('127.0.0.1/32'), '127.0.0.1'],
    ['127.0.0.1', '1.1.1.1, unknown', trust('127.0.0.1/32'), '127.0.0.1'],
    ['127.0.0.1', '  1.1.1.1  ', trust('127.0.0.1/32'), '1.1.1.1'],
    ['::ffff:127.0.0.1', '1.1.1.1', trust('127.0.0.1/32'), '1.1.1.1'],
    ['::ffff:203.0.113.9', null, [], '203.0.113.9'],
    ['::1', '2001:db8:1:2:3:4:5:6', trust('::1/128'), '2001:db8:1:2::/64'],
    ['2001:db8:1:2::1', null, [], '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002:ffff::', null, [], '2001:db8:1:2::/64'],
    ['2001:db8::', '1.1.1.1', trust('2001:db8::/32'), '1.1.1.1'],
    ['2001:db9::', '1.1.1.1', trust('2001:db8::/32'), '2001:db9:0:0::/64'],
  ];
  for (const [peer, forwarded, trusted, client] of CASES) {
    test(`${peer} with ${forwarded ?? 'nothing'}, ${trusted.length} trusted: ${client}`, () => {
      expect(clientIp(peer, forwarded, trusted)).toBe(client);
    });
  }

  test('two networks are two clients', () => {
    expect(clientIp('2001:db8:1:2::1', null, [])).not.toBe(clientIp('2001:db8:1:3::1', null, []));
  });
});
