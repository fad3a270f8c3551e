// GET /admin/v1/events on both engines: which events a watcher gets, from which replicas, where the stream starts and
// when it ends.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { EventWriter } from '../../src/guard/rations/event-writer.ts';
import { newPerson, OWN, send } from '../operators/people.ts';
import { until } from '../support/faults.ts';
import { mutant } from '../support/mutant.ts';
import { ADMIN_TOKEN, type Engine, engines, startService, type TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

interface Told {
  id: string;
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came back
  data: any;
}

/** A stream being read in the background. */
class Watch {
  readonly told: Told[] = [];
  lastId = '';
  ended = false;
  readonly #abort: AbortController;

  constructor(body: ReadableStream<Uint8Array>, abort: AbortController) {
    this.#abort = abort;
    this.#read(body).catch(() => {
      this.ended = true;
    });
  }

  static async open(service: TestService, headers: Record<string, string> = {}): Promise<Watch> {
    const abort = new AbortController();
    const auth = 'Cookie' in headers ? {} : { Authorization: `Bearer ${ADMIN_TOKEN}` };
    const response = await fetch(`${service.url}/admin/v1/events`, {
      headers: { ...auth, ...headers },
      signal: abort.signal,
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    return new Watch(response.body as ReadableStream<Uint8Array>, abort);
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) this.#take(block);
    }
    this.ended = true;
  }

  #take(block: string): void {
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
    this.lastId = field('id') ?? this.lastId;
    const data = field('data');
    if (data !== undefined)
      this.told.push({ id: this.lastId, event: field('event') ?? '', data: JSON.parse(data) });
  }

  of(event: string): Told[] {
    return this.told.filter(each => each.event === event);
  }

  async until(done: () => boolean): Promise<void> {
    const end = Date.now() + 60_000;
    while (!done()) {
      if (Date.now() > end) throw new Error(`not told in time; so far: ${JSON.stringify(this.told)}`);
      await Bun.sleep(5);
    }
  }

  close(): void {
    this.#abort.abort();
  }
}

const RULES = [
  { tool: 'get_*', action: 'allow' },
  { tool: 'merge_*', action: 'require_approval' },
] as const;

for (const engine of await engines()) describe(engine, () => suite(engine));

function suite(engine: Engine): void {
  let service: TestService;
  let key: string;
  beforeAll(async () => {
    service = await startService({ engine });
    key = (await service.newKey([...RULES])).key;
  });
  afterAll(() => service.close());

  test('a verdict and an approval are told as the lists show them', async () => {
    await service.check(key, 'github', 'get_before');
    const watch = await Watch.open(service);
    await service.check(key, 'github', 'get_issue');
    const { referenceId } = (await service.check(key, 'github', 'merge_pull')).body;
    await watch.until(() => watch.told.length >= 3);
    await service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'deny' });
    await watch.until(() => watch.told.length >= 4);
    const { entries } = (await service.admin('GET', '/audit?limit=2')).body;
    expect(watch.of('verdict').map(each => each.data)).toEqual(entries.toReversed());
    const { approvals } = (await service.admin('GET', '/approvals?limit=1')).body;
    const [opened, ended] = watch.of('approval').map(each => each.data);
    expect(opened).toMatchObject({ referenceId, status: 'pending' });
    expect(approvals[0]).toMatchObject(ended);
    watch.close();
  });

  test('with Last-Event-ID it goes on where it ended: nothing missed, nothing twice', async () => {
    const first = await Watch.open(service);
    await first.until(() => first.lastId !== '');
    const placed = first.lastId;
    await service.check(key, 'github', 'get_a');
    await first.until(() => first.told.length === 1);
    first.close();
    for (const tool of ['get_b', 'merge_c', 'get_d']) await service.check(key, 'github', tool);
    const names = (watch: Watch) => watch.told.map(({ event, data }) => `${event} ${data.toolName}`);
    const missed = ['verdict get_b', 'verdict merge_c', 'approval merge_c', 'verdict get_d'];
    const second = await Watch.open(service, { 'Last-Event-ID': first.lastId });
    await service.check(key, 'github', 'get_e');
    await second.until(() => second.told.length >= 5);
    expect(names(second)).toEqual([...missed, 'verdict get_e']);
    // A stream that was told nothing yet has a place to go on from too.
    const third = await Watch.open(service, { 'Last-Event-ID': placed });
    await third.until(() => third.told.length >= 6);
    expect(names(third)).toEqual(['verdict get_a', ...missed, 'verdict get_e']);
    second.close();
    third.close();
  });

  test('it ends with the sign-in, and tells nothing that happened afterwards', async () => {
    const person = await newPerson(service, 'viewer');
    const watch = await Watch.open(service, { Cookie: person.cookie, ...OWN });
    await service.check(key, 'github', 'get_seen');
    await watch.until(() => watch.told.length === 1);
    await send(service, 'POST', '/admin/v1/sign-out', { cookie: person.cookie });
    await service.check(key, 'github', 'get_unseen');
    await watch.until(() => watch.ended);
    expect(watch.told.map(each => each.data.toolName)).toEqual(['get_seen']);
  });

  test('it ends when the watcher becomes a user, who may see only what is their own', async () => {
    const person = await newPerson(service, 'viewer');
    const watch = await Watch.open(service, { Cookie: person.cookie, ...OWN });
    await service.admin('PATCH', `/operators/${person.id}`, { role: 'user' });
    await service.check(key, 'github', 'get_unseen');
    await watch.until(() => watch.ended);
    expect(watch.told).toEqual([]);
  });

  test('more than fits is said to be more', async () => {
    const watch = await Watch.open(service, { 'Last-Event-ID': '00000000-0000-7000-8000-000000000000' });
    await watch.until(() => watch.told.length > 0);
    expect(watch.of('gap')).toEqual([]);
    watch.close();
    await Promise.all(Array.from({ length: 1001 }, () => service.check(key, 'github', 'get_many')));
    const again = await Watch.open(service, { 'Last-Event-ID': '00000000-0000-7000-8000-000000000000' });
    await again.until(() => again.told.length >= 1001);
    expect(again.told[0]?.event).toBe('gap');
    again.close();
  });

  test('a stop ends the streams', async () => {
    const other = await startService({ engine });
    const watch = await Watch.open(other);
    await other.close();
    await watch.until(() => watch.ended);
  });
}

test.if((await engines()).includes('postgres'))('what another replica committed is told too', async () => {
  const here = await startService({ engine: 'postgres' });
  const there = await startService({ databaseUrl: here.databaseUrl });
  const { key } = await here.newKey([...RULES]);
  const watch = await Watch.open(here);
  const asked = await Promise.all(
    Array.from({ length: 40 }, (_, n) => (n % 2 ? here : there).check(key, 'github', `get_${n}`)),
  );
  await watch.until(() => watch.told.length >= asked.length);
  const told = watch.told.map(each => each.data.id).sort();
  expect(told).toEqual(asked.map(reply => reply.body.toolCallId).sort());
  watch.close();
  await Promise.all([here.close(), there.close()]);
});

test('so many streams of one operator at most, and others have theirs', async () => {
  const service = await startService();
  const asked = (headers: Record<string, string>) => {
    const abort = new AbortController();
    return fetch(`${service.url}/admin/v1/events`, { headers, signal: abort.signal }).then(({ status }) => ({
      status,
      abort,
    }));
  };
  const admin = { Authorization: `Bearer ${ADMIN_TOKEN}` };
  const open = await Promise.all(Array.from({ length: 50 }, () => asked(admin)));
  expect(new Set(open.map(each => each.status))).toEqual(new Set([200]));
  expect((await asked(admin)).status).toBe(503);
  const person = await newPerson(service, 'viewer');
  expect((await asked({ Cookie: person.cookie, ...OWN })).status).toBe(200);
  open[0]?.abort.abort();
  await until('a place', async () => (await asked(admin)).status === 200);
  await service.close();
});

test('a watcher that does not read is let go', async () => {
  let closed = 0;
  const writer = new EventWriter(() => closed++);
  for (let n = 0; n < 100 && closed === 0; n++) writer.tell('verdict', 'x'.repeat(100_000), `${n}`);
  expect(closed).toBe(1);
});

const OUTLIVING = {
  file: 'src/http/serving/feed.ts',
  find: 'if (!(await watcher.holds())) watcher.writer.close();',
  replace: '',
};

whenChanged(OUTLIVING)('mutant: a stream that outlives its sign-in is noticed', async () => {
  const broken = mutant(OUTLIVING);
  const service = await startService({ root: broken.root });
  const { key } = await service.newKey([...RULES]);
  const person = await newPerson(service, 'viewer');
  const watch = await Watch.open(service, { Cookie: person.cookie, ...OWN });
  await send(service, 'POST', '/admin/v1/sign-out', { cookie: person.cookie });
  await service.check(key, 'github', 'get_unseen');
  await watch.until(() => watch.told.length === 1);
  watch.close();
  await service.close();
  broken.remove();
});
