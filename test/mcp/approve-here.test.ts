// A key that sends the person at a client to the page of an approval: what clients of both eras are told, that their answer
// decides nothing and reaches nobody, and that the call goes on once somebody has answered.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { until } from '../support/faults.ts';
import {
  type Answered,
  connect,
  events,
  LegacyClient,
  META,
  modern,
  RecordingUpstream,
} from '../support/mcp.ts';
import { startService, type TestService } from '../support/service.ts';
import { DECLARED, TasksClient } from '../support/tasks.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
type Any = any;

const ASK = [{ tool: '*', action: 'require_approval' as const }];
const OPENS = { elicitation: { url: {} } };
const MESSAGE =
  'This call has to be approved. Whoever may approve it signs in on this page and answers there.';
const upstream = new RecordingUpstream({ era: 'modern' });
const usual = upstream.options.onCall;
afterEach(() => {
  upstream.options.onCall = usual;
});
afterAll(() => upstream.stop());

const reached = (n: string) => upstream.calls.filter(each => each.params.arguments?.n === n);
const answering = (action: unknown) => ({ inputResponses: { 'toolgate/approval': action } });
const ACCEPTED = answering({ action: 'accept' });

for (const engine of await enginesWhenChanged(
  'src/mcp/approve-here.ts',
  'src/mcp/awaited-answers.ts',
  'src/store/**',
)) {
  describe(engine, () => {
    let service: TestService;
    let key: string;
    let keyId: string;
    beforeAll(async () => {
      service = await startService({ engine });
      ({ key, keyId } = await newKey({ approveHere: true }));
    });
    afterAll(() => service.close());

    async function newKey(more: Record<string, unknown>, at = service) {
      const made = await at.newKey(ASK, more);
      await connect(at, made.keyId, 'up', upstream.url);
      return made;
    }

    interface Way {
      token?: string;
      capabilities?: Any;
      signal?: AbortSignal;
      headers?: Record<string, string>;
      at?: TestService;
    }
    const call = (
      n: string,
      more: Any = {},
      { token = key, capabilities = OPENS, at = service, ...sending }: Way = {},
    ) =>
      modern(
        at,
        token,
        'tools/call',
        {
          name: 'up__echo',
          arguments: { n },
          _meta: { [`${META}clientCapabilities`]: capabilities },
          ...more,
        },
        sending,
      );
    const addressIn = ({ result }: Answered): string => result.inputRequests['toolgate/approval'].params.url;
    const referenceIn = (address: string) => address.split('/').at(-1) as string;
    const resolve = (referenceId: string, answer: object = { action: 'approve' }) =>
      service.admin('POST', `/approvals/${referenceId}/resolve`, answer);
    /** The decisions about calls of the key, the oldest first. */
    const decisions = async (): Promise<string[]> =>
      (await service.admin('GET', `/audit?keyId=${keyId}`)).body.entries
        .map((each: Any) => each.decision)
        .reverse();
    /** A call that waits for an answer: that it was decided is in the store. */
    async function waiting(n: string, way: Way = {}) {
      const before = (await decisions()).length;
      const answer = call(n, ACCEPTED, way);
      answer.catch(() => {});
      await until('the call waits', async () => (await decisions()).length > before);
      return { answer };
    }

    test('a client that can open an address is sent to the page of the approval, and all others get pending', async () => {
      const n = crypto.randomUUID();
      const asked = await call(n);
      const { referenceId } = (await service.admin('GET', '/approvals?limit=1')).body.approvals[0];
      const url = `${service.url}/dashboard/approvals/${referenceId}`;
      expect(asked.result).toEqual({
        resultType: 'input_required',
        inputRequests: {
          'toolgate/approval': {
            method: 'elicitation/create',
            params: { mode: 'url', message: MESSAGE, url },
          },
        },
      });
      const pending = { status: 'pending', referenceId };
      for (const capabilities of [{}, { elicitation: {} }, { elicitation: { form: {} } }])
        expect((await call(n, {}, { capabilities })).result).toMatchObject({
          resultType: 'complete',
          structuredContent: pending,
        });
      // Somebody who did not want to open it is not asked again, and what is no answer is not one.
      for (const action of [{ action: 'decline' }, { action: 'cancel' }, {}, 'accept', null, 5, ['accept']])
        expect((await call(n, answering(action))).result.structuredContent).toMatchObject(pending);
      const other = await newKey({});
      expect((await call(n, {}, { token: other.key })).result.structuredContent.status).toBe('pending');
      expect(reached(n)).toEqual([]);
    });

    test('the call that the client repeats is freed, without its answer to us', async () => {
      const n = crypto.randomUUID();
      const referenceId = referenceIn(addressIn(await call(n)));
      expect((await resolve(referenceId)).status).toBe(200);
      const { result } = await call(n, ACCEPTED);
      expect(result.content[0].text).toBe(JSON.stringify({ n }));
      expect(reached(n).map(each => [each.params.inputResponses, each.params.requestState])).toEqual([
        [undefined, undefined],
      ]);
      // The approval is spent.
      expect(referenceIn(addressIn(await call(n)))).not.toBe(referenceId);
    });

    test('it waits until somebody has answered, and is then decided anew', async () => {
      const [yes, no] = [crypto.randomUUID(), crypto.randomUUID()];
      const approved = referenceIn(addressIn(await call(yes)));
      const denied = referenceIn(addressIn(await call(no)));
      const before = (await decisions()).length;
      const goes = await waiting(yes);
      const stays = await waiting(no);
      await resolve(approved);
      expect((await goes.answer).result.content[0].text).toBe(JSON.stringify({ n: yes }));
      await resolve(denied, { action: 'deny', note: 'Not today.' });
      const { result } = await stays.answer;
      expect(result).toMatchObject({ resultType: 'complete', isError: true });
      expect(result.content[0].text).toContain('They wrote: "Not today."');
      expect([reached(yes).length, reached(no).length]).toEqual([1, 0]);
      expect((await decisions()).slice(before)).toEqual(['pending', 'pending', 'allow', 'deny']);
    });

    test('with an idempotency key it is one call from the question to its result', async () => {
      const n = crypto.randomUUID();
      const before = (await decisions()).length;
      const once = { headers: { 'Idempotency-Key': n } };
      const referenceId = referenceIn(addressIn(await call(n, {}, once)));
      const answer = call(n, ACCEPTED, once);
      await resolve(referenceId);
      for (const { result } of [await answer, await call(n, ACCEPTED, once)])
        expect(result.content[0].text).toBe(JSON.stringify({ n }));
      expect(reached(n)).toHaveLength(1);
      expect((await decisions()).slice(before)).toEqual(['pending', 'allow']);
    });

    test('whoever hangs up while waiting spends nothing', async () => {
      const n = crypto.randomUUID();
      const referenceId = referenceIn(addressIn(await call(n)));
      const gone = new AbortController();
      const { answer } = await waiting(n, { signal: gone.signal });
      gone.abort();
      expect(
        await answer.then(
          () => 'answered',
          () => 'gone',
        ),
      ).toBe('gone');
      await resolve(referenceId);
      expect((await call(n)).result.content[0].text).toBe(JSON.stringify({ n }));
      expect(reached(n)).toHaveLength(1);
    });

    test('what the client had answered to the tool itself comes back to the tool, and is part of what is approved', async () => {
      const n = crypto.randomUUID();
      upstream.options.onCall = ({ params }) =>
        params.inputResponses === undefined
          ? { resultType: 'input_required', inputRequests: { q: {} }, requestState: 'theirs' }
          : { resultType: 'complete', content: [] };
      await resolve(referenceIn(addressIn(await call(n))));
      expect((await call(n, ACCEPTED)).result.inputRequests).toEqual({ q: {} });
      const theirs = {
        inputResponses: { q: { action: 'accept', content: { is: 1.5 } } },
        requestState: 'theirs',
      };
      const asked = await call(n, theirs);
      const { requestState } = asked.result;
      await resolve(referenceIn(addressIn(asked)));
      // With another state it is another call, which nobody has approved.
      const forged = requestState.replace('1.5', '2.5');
      expect((await call(n, { requestState: 'theirs' })).result.inputRequests).toBeDefined();
      const other = await newKey({ approveHere: true });
      const { result } = await call(
        n,
        { ...answering({ action: 'decline' }), requestState: forged },
        { token: other.key },
      );
      expect(result.structuredContent.status).toBe('pending');
      expect(reached(n)).toHaveLength(1);
      expect((await call(n, { ...ACCEPTED, requestState })).result.content).toEqual([]);
      expect(reached(n).at(-1)?.params).toMatchObject(theirs);
      expect(Object.keys(reached(n).at(-1)?.params.inputResponses)).toEqual(['q']);
      for (const broken of ['toolgate:', 'toolgate:{', 'toolgate:[1]', 'toolgate:{"a":1,"a":2}'])
        expect((await call(n, { ...ACCEPTED, requestState: broken })).error.code).toBe(-32602);
    });

    test('a client of 2025-11-25 gets an error with the address, and is told when somebody has answered', async () => {
      const client = await LegacyClient.open(service, key, '2025-11-25', 'init', OPENS);
      const stop = new AbortController();
      const stream = await client.listen(stop.signal);
      const args = { n: crypto.randomUUID() };
      const { error } = await client.call('up__echo', args);
      const [{ url, elicitationId }] = error.data.elicitations;
      expect(error).toEqual({
        code: -32042,
        message: MESSAGE,
        data: { elicitations: [{ mode: 'url', message: MESSAGE, url, elicitationId }] },
      });
      expect(url).toBe(`${service.url}/dashboard/approvals/${elicitationId}`);
      // The same question has the same name, and its end is told once.
      expect((await client.call('up__echo', args)).error.data.elicitations[0].elicitationId).toBe(
        elicitationId,
      );
      const heard = told(stream);
      await resolve(elicitationId);
      expect(await heard).toEqual([
        { method: 'notifications/elicitation/complete', params: { elicitationId } },
      ]);
      stop.abort();
      expect((await client.call('up__echo', args)).result.content[0].text).toBe(JSON.stringify(args));
      expect(reached(args.n)).toHaveLength(1);
    });

    test('clients of the older era that did not say that they can open an address, or have no such error, get pending', async () => {
      const args = { n: crypto.randomUUID() };
      for (const [version, capabilities] of [
        ['2025-11-25', {}],
        ['2025-06-18', OPENS],
      ] as const) {
        const client = await LegacyClient.open(service, key, version, 'init', capabilities);
        expect((await client.call('up__echo', args)).result.structuredContent.status).toBe('pending');
      }
    });

    test('a client that knows tasks too finds the address in its task, which ends by itself', async () => {
      const client = new TasksClient(service, key, { ...DECLARED, ...OPENS });
      const n = crypto.randomUUID();
      const { result: created } = await client.call('up__echo', { n });
      const { taskId } = created;
      expect(created).toMatchObject({ resultType: 'task', status: 'input_required' });
      expect(created.inputRequests).toBeUndefined();
      const url = `${service.url}/dashboard/approvals/${taskId}`;
      const asked = { method: 'elicitation/create', params: { mode: 'url', message: MESSAGE, url } };
      const waits = { status: 'input_required', inputRequests: { 'toolgate/approval': asked } };
      expect((await client.get(taskId)).result).toMatchObject(waits);
      const stream = await client.listen([taskId]);
      await stream.until('the stream tells of the task', ({ tasks }) => tasks.length > 0);
      expect(stream.tasks[0]).toMatchObject(waits);
      // It cannot open the address, so nobody is sent there.
      const other = new TasksClient(service, key);
      expect((await other.get(taskId)).result.status).toBe('working');
      const { result } = await client.update(taskId, ACCEPTED.inputResponses);
      expect(result).toEqual({ resultType: 'complete' });
      expect((await client.get(taskId)).result).toMatchObject(waits);
      expect(reached(n)).toEqual([]);
      await resolve(taskId);
      const ended = await client.ends(taskId);
      expect(ended).toMatchObject({
        status: 'completed',
        result: { content: [{ text: JSON.stringify({ n }) }] },
      });
      expect(ended.inputRequests).toBeUndefined();
      stream.close();
      // A key without tasks asks in the result of the call.
      const without = await newKey({ approveHere: true, tasks: false });
      const { result: again } = await new TasksClient(service, without.key, { ...DECLARED, ...OPENS }).call(
        'up__echo',
        { n },
      );
      expect(again.resultType).toBe('input_required');
      expect(reached(n).map(each => each.params.inputResponses)).toEqual([undefined]);
    });

    test('a service that stops lets nobody wait', async () => {
      const n = crypto.randomUUID();
      const other = await startService({ engine });
      const { key: token } = await newKey({ approveHere: true }, other);
      const entries = async () => (await other.admin('GET', '/audit')).body.entries.length;
      await call(n, {}, { token, at: other });
      const answer = call(n, ACCEPTED, { token, at: other });
      await until('the call waits', async () => (await entries()) === 2);
      const closed = other.close();
      expect(addressIn(await answer)).toContain('/dashboard/approvals/');
      await closed;
      expect(reached(n)).toEqual([]);
    });

    test.if(engine === 'postgres')('an answer that another replica took lets it go on', async () => {
      const n = crypto.randomUUID();
      const second = await startService({ engine, databaseUrl: service.databaseUrl });
      const referenceId = referenceIn(addressIn(await call(n)));
      const { answer } = await waiting(n);
      await second.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'approve' });
      expect((await answer).result.content[0].text).toBe(JSON.stringify({ n }));
      await second.close();
    });
  });
}

/** The first messages of a stream, without those about lists, as soon as there are any. */
async function told(stream: Response): Promise<Any[]> {
  let text = '';
  for await (const chunk of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const said = events(text).filter(({ method }) => !method.includes('list_changed'));
    if (said.length > 0) return said.map(({ method, params }) => ({ method, params }));
  }
  return [];
}
