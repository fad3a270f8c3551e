// Reads the resources file of `toolgate apply`: policies, keys and webhooks as they should be. Reading is strict, and a
// fault is reported with its line. The service validates the values.

import { dirname, join } from 'node:path';
import { isMap, isScalar, isSeq, type YAMLMap } from 'yaml';
import type { NotifyTargets } from '../core/api/resources.ts';
import { openToFault } from '../core/approvals/open-to.ts';
import { EXIT } from './exit.ts';
import { type IO, readText } from './io.ts';
import { type NamedPolicy, policyWithin, readPolicy } from './policy-file.ts';
import { offset, YamlReader } from './yaml-reader.ts';

export interface WantedPolicy {
  /** The file may give the policy another name than the entry that names the file. */
  name: string;
  policy: NamedPolicy;
}

export interface WantedKey {
  /** Needed where several keys have the same name. */
  id?: string;
  name: string;
  /** The name or the id of a policy. */
  policy: string;
  /** The name or the id of the policy that is its shadow, or null. */
  shadow?: string | null;
  requireSignInToApprove?: boolean;
  expiresAt?: string | null;
  notify?: NotifyTargets | null;
  forward?: string[];
  openTo?: string[];
  tasks?: boolean;
  approveHere?: boolean;
}

export interface WantedWebhook {
  url: string;
  /** The name or the id of a key; without it, every key. */
  key?: string;
  events?: string[];
}

export interface Resources {
  policies: WantedPolicy[];
  keys: WantedKey[];
  webhooks: WantedWebhook[];
}

type Test = (value: unknown) => boolean;
const isText: Test = value => typeof value === 'string' && value !== '';
const isTexts: Test = value => Array.isArray(value) && value.every(isText);
const isFlag: Test = value => typeof value === 'boolean';
const isOpenTo: Test = value =>
  isTexts(value) && (value as string[]).every(each => openToFault(each) === null);
const isTime: Test = value => value === null || (isText(value) && !Number.isNaN(Date.parse(value as string)));
const isTargets: Test = value => typeof value === 'object' && (!Array.isArray(value) || isTexts(value));

type Fields = Record<string, [check: Test, what: string, required?: 'required']>;

const KEY: Fields = {
  id: [isText, 'the id of a key that is there'],
  name: [isText, 'a name', 'required'],
  policy: [isText, 'the name or the id of a policy', 'required'],
  shadow: [value => value === null || isText(value), 'the name or the id of a policy, or null'],
  requireSignInToApprove: [isFlag, 'true or false'],
  expiresAt: [isTime, 'a time such as 2030-01-31T12:00:00Z, or null'],
  notify: [isTargets, 'an object with emails, slackWebhookUrl or url, a list of names of channels, or null'],
  forward: [isTexts, 'a list of resources, prompts, completion'],
  openTo: [isOpenTo, 'a list of group:<name> and person:<e-mail>'],
  tasks: [isFlag, 'true or false'],
  approveHere: [isFlag, 'true or false'],
};

const WEBHOOK: Fields = {
  url: [isText, 'an address', 'required'],
  key: [isText, 'the name or the id of a key'],
  events: [isTexts, 'a list of events'],
};

export async function readResources(io: IO, file: string): Promise<Resources> {
  return new Reader(io, file, await readText(io, file), EXIT.failed).read();
}

class Reader extends YamlReader {
  async read(): Promise<Resources> {
    const root = this.root();
    if (!isMap(root)) throw this.wrong(0, 'expected an object with policies, keys, webhooks');
    this.known(root, ['policies', 'keys', 'webhooks'], 'the file');
    const policies: WantedPolicy[] = [];
    for (const node of this.#items(root, 'policies')) policies.push(await this.#policy(node));
    const keys = this.#items(root, 'keys').map(node => this.#entry<WantedKey>(node, 'a key', KEY));
    const webhooks = this.#items(root, 'webhooks').map(node =>
      this.#entry<WantedWebhook>(node, 'a webhook', WEBHOOK),
    );
    this.#once(
      'policy',
      policies.map(each => each.name),
    );
    this.#once(
      'key',
      keys.map(each => each.name),
    );
    this.#once(
      'webhook',
      webhooks.map(each => `${each.url} ${each.key ?? ''}`),
    );
    return { policies, keys, webhooks };
  }

  #items(root: YAMLMap, field: string): YAMLMap[] {
    const list = root.get(field, true);
    if (list === undefined || (isScalar(list) && list.value === null)) return [];
    if (!isSeq(list)) throw this.wrong(offset(list), `"${field}" must be a list`);
    return list.items.map(item => {
      if (isMap(item)) return item;
      throw this.wrong(offset(item), `each of "${field}" must be an object`);
    });
  }

  /** The policy is written here, or `{ name?, file }` names a policy file beside this one. */
  async #policy(node: YAMLMap): Promise<WantedPolicy> {
    const file = node.get('file');
    const policy = typeof file === 'string' ? await this.#policyFile(node, file) : this.#policyHere(node);
    const name = (node.get('name') as string | undefined) ?? policy.name;
    if (!isText(name)) throw this.wrong(offset(node), 'a policy needs a "name"');
    return { policy, name: name as string };
  }

  #policyFile(node: YAMLMap, file: string): Promise<NamedPolicy> {
    this.known(node, ['name', 'file'], 'a policy with a "file"');
    return readPolicy(this.io, join(dirname(this.file), file), EXIT.failed);
  }

  #policyHere(node: YAMLMap): NamedPolicy {
    return policyWithin(this.io, this.text, node.range ?? [0, 0], this.file, EXIT.failed);
  }

  #entry<T>(node: YAMLMap, what: string, fields: Fields): T {
    this.known(node, Object.keys(fields), what);
    const value = node.toJSON() as Record<string, unknown>;
    for (const [field, [check, expected, required]] of Object.entries(fields)) {
      if (value[field] === undefined && required === undefined) continue;
      if (!check(value[field])) throw this.wrong(offset(node), `"${field}" of ${what} must be ${expected}`);
    }
    return value as T;
  }

  #once(what: string, names: readonly string[]): void {
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw this.wrong(0, `the ${what} "${twice.trim()}" is there twice`);
  }
}
