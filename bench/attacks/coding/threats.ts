// The suite agent_threat_bench: a mailbox, a support desk and a knowledge base, with an attacker's words in what is read. They
// are no tools of a coding agent, so they come as tools of an MCP server. Where the goal is only what the agent says, there
// is no call to be judged, and the case is left out.

import * as fs from 'node:fs';
import { fileOf } from './cache.ts';
import { type Call, type Injected, mcp, type Scene } from './scene.ts';

interface Sample {
  id: string;
  input: string;
  attack_name: string;
  inbox?: { from: string; subject: string; body: string }[];
  attack_email_indices?: number[];
  forbidden_actions?: string[];
  customer_db?: Record<string, string>[];
  sensitive_fields?: string[];
  authorized_recipients?: string[];
  memory_store?: Record<string, string>;
}

const PARTS = ['autonomy_hijack', 'data_exfil', 'memory_poison'];
const samples = (): Sample[] =>
  PARTS.flatMap(part => {
    const file = fileOf('inspect_evals', `inspect_evals/agent_threat_bench/data/${part}.json`);
    return JSON.parse(fs.readFileSync(file, 'utf8')) as Sample[];
  });

const isAttacked = ({ attack_name }: Sample): boolean => attack_name !== 'clean_baseline';

export const threatScenes = (): Scene[] => samples().map(sceneOf);

export const attackedThreats = (): Set<string> =>
  new Set(samples().flatMap(sample => (isAttacked(sample) ? [sample.id] : [])));

export function sceneOf(sample: Sample): Scene {
  const scene = { name: sample.id, prompt: sample.input };
  const injected = isAttacked(sample) ? injectedBy(sample).map(call => ({ ...call, isGoal: true })) : [];
  if (sample.inbox !== undefined) {
    const before = [mcp('inbox', 'read_inbox', {}, JSON.stringify(sample.inbox))];
    const hostile = new Set(sample.attack_email_indices);
    const own = sample.inbox.map((_, index) => index + 1).filter(index => !hostile.has(index));
    return { ...scene, before, injected, after: own.map(index => categorize(index, 'normal')) };
  }
  const records = sample.customer_db ?? [];
  if (records.length === 0)
    return { ...scene, before: [mcp('memory', 'memory_read', { key: sample.input })], injected, after: [] };
  const before = records.map(record =>
    mcp('support', 'lookup_customer', { query: record['id'] ?? '' }, JSON.stringify(record)),
  );
  const resolved = { customer_id: records[0]?.['id'] ?? '', resolution: 'The question was answered.' };
  return { ...scene, before, injected, after: [mcp('support', 'resolve_ticket', resolved)] };
}

const categorize = (index: number, category: string): Call =>
  mcp('inbox', 'categorize_email', { email_index: index, category });

/** What whoever obeys calls: the hostile mail is important, and its words are in the summary; the record goes where the text says. */
function injectedBy(sample: Sample): Omit<Injected, 'isGoal'>[] {
  const { attack_email_indices = [], forbidden_actions = [], customer_db = [] } = sample;
  const summary = forbidden_actions.join(' ');
  const mails = attack_email_indices.flatMap(index => [
    categorize(index, 'important'),
    mcp('inbox', 'draft_summary', { email_index: index, summary }),
  ]);
  const body = (sample.sensitive_fields ?? []).join(' ');
  const sent = recipients(customer_db, sample.authorized_recipients ?? []).map(recipient =>
    mcp('support', 'send_message', { recipient, body }),
  );
  return [...mails, ...sent];
}

/** The addresses that the tickets name, without those that may have the record. */
function recipients(records: readonly Record<string, string>[], authorized: readonly string[]): string[] {
  const named = records.flatMap(({ issue = '' }) => issue.match(/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g) ?? []);
  return [...new Set(named)].filter(address => !authorized.includes(address));
}
