// A real service that speaks S3, over a folder: `rclone serve s3`. It verifies signatures and digests. The folders in
// its folder are its buckets.

import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { newDataDir, until } from './faults.ts';
import { nextPort } from './port.ts';

export const S3_KEY = { id: 'AKIDEXAMPLE', secret: 'secret/of+the=test', region: 'eu-central-1' };

export class S3Service {
  readonly folder: string;
  readonly port: number;
  #process: Bun.Subprocess;

  readonly #program: string;
  readonly #options: string[];

  private constructor(program: string, options: string[]) {
    this.#program = program;
    this.#options = options;
    this.folder = newDataDir();
    this.port = nextPort();
    this.#process = this.#spawn();
  }

  static async start(program: string, bucket: string, ...options: string[]): Promise<S3Service> {
    const service = new S3Service(program, options);
    mkdirSync(join(service.folder, bucket));
    await service.#listens();
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#process.exited;
  }

  async startAgain(): Promise<void> {
    this.#process = this.#spawn();
    await this.#listens();
  }

  /** The objects of a bucket with their text, in the order of their names without folders. */
  objects(bucket: string): { name: string; text: string }[] {
    const folder = join(this.folder, bucket);
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(each =>
      each.endsWith('.gz'),
    );
    const last = (name: string) => name.slice(name.lastIndexOf('/'));
    names.sort((a, b) => (last(a) < last(b) ? -1 : 1));
    return names.map(name => ({ name, text: gunzipSync(readFileSync(join(folder, name))).toString() }));
  }

  #spawn(): Bun.Subprocess {
    const key = `${S3_KEY.id},${S3_KEY.secret}`;
    const address = `127.0.0.1:${this.port}`;
    return Bun.spawn(
      [this.#program, 'serve', 's3', this.folder, '--addr', address, '--auth-key', key, ...this.#options],
      { env: { ...process.env, RCLONE_CONFIG: '/dev/null' }, stdout: 'ignore', stderr: 'ignore' },
    );
  }

  #listens(): Promise<void> {
    return until('the S3 service listens', () =>
      fetch(this.url).then(
        () => true,
        () => false,
      ),
    );
  }
}
