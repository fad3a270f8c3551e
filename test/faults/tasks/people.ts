// Who answers the questions of this world. Of a call, only the first question may be approved: so a call that runs twice
// ran once without an approval.

import type { TestService } from '../../support/service.ts';

/** Of the questions that are seen, so many are answered at once. */
const AT_ONCE = 0.4;
const APPROVED = 0.85;
const PAUSE_MS = 40;

export class People {
  /** They leave nothing open from now on. */
  isThorough = false;
  readonly #services: () => TestService[];
  readonly #chance: () => number;
  /** The answer to each question, by its id. */
  readonly #answers = new Map<string, 'approve' | 'deny'>();
  readonly #asked = new Set<string>();
  #isOver = false;
  readonly #done: Promise<void>;

  constructor(services: () => TestService[], chance: () => number) {
    this.#services = services;
    this.#chance = chance;
    this.#done = this.#work();
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#done;
  }

  async #work(): Promise<void> {
    while (!this.#isOver) {
      const services = this.#services();
      const service = services[Math.floor(this.#chance() * services.length)];
      // A replica that is killed meanwhile answers nobody.
      if (service !== undefined) await this.#answerSome(service).catch(() => {});
      await Bun.sleep(PAUSE_MS);
    }
  }

  async #answerSome(service: TestService): Promise<void> {
    const { body } = await service.admin('GET', '/approvals?status=pending&limit=100');
    for (const { referenceId: id, keyId, toolName } of body.approvals) {
      const first = this.#answer(id, `${keyId} ${toolName}`);
      if (!this.isThorough && this.#chance() > AT_ONCE) continue;
      await service.admin('POST', `/approvals/${id}/resolve`, { action: first, note: 'as it is' });
    }
  }

  #answer(id: string, call: string): 'approve' | 'deny' {
    const known = this.#answers.get(id);
    if (known !== undefined) return known;
    const isFirst = !this.#asked.has(call);
    const answer = isFirst && this.#chance() < APPROVED ? 'approve' : 'deny';
    this.#asked.add(call);
    this.#answers.set(id, answer);
    return answer;
  }
}
