// Who sees the result of a task: the credential that made the call, on every replica, for as long as results are held. Other
// sessions of the same key, other keys and people do not; nor does a user of the database who listens, repeats what
// replicas ask each other, forges questions, and asks as a replica about a result whose time is over.

import { RESULT } from '../../src/guard/exchange/kinds.ts';
import { newQuestion } from '../../src/guard/exchange/messages.ts';
import { Vault } from '../../src/guard/secrets.ts';
import { ASK_ALL, type Gate } from '../approvals/gate.ts';
import { until } from '../support/faults.ts';
import { connect, RecordingUpstream } from '../support/mcp.ts';
import { ADMIN_TOKEN } from '../support/service.ts';
import { TasksClient } from '../support/tasks.ts';
import { Snoop } from './snoop.ts';

/** As all test services have it, and another one. */
const VAULT = new Vault(new Uint8Array(32).fill(7));
const FOREIGN = new Vault(new Uint8Array(32).fill(8));
const HOUR = 3_600_000;

/** Notes what is not as it should be. */
interface Noting {
  faults: number;
  compare(where: string, expected: boolean, seen: boolean): void;
}

/** A task that has ended. */
interface Ended {
  client: TasksClient;
  taskId: string;
  toolCallId: string;
  marker: string;
}

export async function seatsOfTasks(gate: Gate, noting: Noting): Promise<void> {
  const marker = `result-${crypto.randomUUID()}`;
  const upstream = new RecordingUpstream({
    era: 'modern',
    onCall: () => ({ resultType: 'complete', content: [{ type: 'text', text: marker }] }),
  });
  const { service, services } = gate;
  const snoop = services.length > 1 ? await Snoop.on(service.databaseUrl, RESULT) : null;
  try {
    const { key, keyId } = await service.newKey(ASK_ALL);
    await connect(service, keyId, 'up', upstream.url);
    const session = async () => (await service.json('POST', '/v1/sessions', key, {})).body.token;
    const client = new TasksClient(service, await session());
    const others = [await session(), key, (await service.newKey(ASK_ALL)).key, ADMIN_TOKEN];
    const ended = await newEnded(gate, client, marker);
    const kept = await newEnded(gate, client, marker);
    await lookAt(gate, ended, others, noting);
    if (snoop !== null) await snoopOn(snoop, services.length, ended, noting);
    await letTimePass(gate, ended);
    for (const each of services) {
      const { text } = await client.at(each).get(ended.taskId);
      noting.compare('a result whose time is over', false, text.includes(marker));
    }
    if (snoop !== null) await askInVain(snoop, ended, kept, noting);
    const heard = snoop?.heard.some(each => each.includes(marker)) === true;
    noting.compare('a result on the channel', false, heard);
  } finally {
    await snoop?.close();
    await upstream.stop();
  }
}

async function newEnded(gate: Gate, client: TasksClient, marker: string): Promise<Ended> {
  const { taskId } = (await client.call('up__echo', { n: crypto.randomUUID() })).result;
  await gate.service.admin('POST', `/approvals/${taskId}/resolve`, { action: 'approve' });
  await client.ends(taskId);
  const [row] = await gate.rows<{ id: string }>(
    `SELECT tool_call_id AS id FROM tasks WHERE id = '${taskId}'`,
  );
  return { client, taskId, toolCallId: row?.id as string, marker };
}

async function lookAt(
  gate: Gate,
  { client, taskId, toolCallId, marker }: Ended,
  others: readonly string[],
  noting: Noting,
): Promise<void> {
  const compare = (...what: Parameters<Noting['compare']>) => noting.compare(...what);
  for (const service of gate.services) {
    const own = await client.at(service).get(taskId);
    compare('a result: the client that made the call', true, own.text.includes(marker));
    for (const token of others) {
      const theirs = new TasksClient(service, token);
      const [seen, none] = [await theirs.get(taskId), await theirs.get(crypto.randomUUID())];
      compare('a result: others', false, seen.text.includes(marker));
      const isSame = seen.status === none.status && seen.error?.message === none.error?.message;
      compare('a task of others, told from one that never was', false, !isSame);
    }
    for (const path of [`/approvals/${taskId}`, '/approvals', `/audit/${toolCallId}`, '/audit'])
      compare('a result: people', false, (await service.admin('GET', path)).text.includes(marker));
    const metrics = (await service.request('GET', '/metrics')).text;
    compare('a result: metrics', false, metrics.includes(marker));
  }
}

/** What the other replica has asked is repeated, and asked by somebody who has not our keys. */
async function snoopOn(snoop: Snoop, replicas: number, { toolCallId }: Ended, noting: Noting): Promise<void> {
  const asked = snoop.questions();
  if (asked.length === 0) throw new Error('no replica has asked for the result');
  const forged = newQuestion(FOREIGN, RESULT, toolCallId, Date.now()).question;
  for (const text of [...asked, forged.text]) await snoop.ask(text);
  noting.faults += asked.length + 1;
  // The channel keeps the order, so whatever is answered to all of that comes before the answer to this.
  const last = newQuestion(VAULT, RESULT, toolCallId, Date.now()).question;
  await snoop.ask(last.text);
  await until('the last answer', () => snoop.answered().has(last.id));
  noting.compare('a forged question', false, snoop.answered().has(forged.id));
  // Whoever has fetched the result gives it on, so each of them may answer, once.
  for (const [, count] of snoop.answered()) noting.compare('a repeated question', false, count > replicas);
}

/** As if it had ended long ago. */
async function letTimePass(gate: Gate, { taskId, toolCallId }: Ended): Promise<void> {
  await gate.rows(`UPDATE outcomes SET at = at - ${HOUR} WHERE tool_call_id = '${toolCallId}'`);
  await gate.rows(`UPDATE tasks SET known_until = known_until - ${HOUR} WHERE id = '${taskId}'`);
}

/** It may still be in memory. A question about a result that may be fetched is answered after it. */
async function askInVain(snoop: Snoop, ended: Ended, kept: Ended, noting: Noting): Promise<void> {
  const ask = async ({ toolCallId }: Ended) => {
    const { text, id } = newQuestion(VAULT, RESULT, toolCallId, Date.now()).question;
    await snoop.ask(text);
    noting.faults++;
    return id;
  };
  const late = await ask(ended);
  for (let more = 0; more < 3; more++) {
    const last = await ask(kept);
    await until('the last answer', () => snoop.answered().has(last));
  }
  noting.compare('a question about a result whose time is over', false, snoop.answered().has(late));
}
