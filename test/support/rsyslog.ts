// A real syslog server: rsyslogd, with TLS and certificates of its own. It writes one line for each message that it
// understood, with the parts that it found in it.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { newDataDir, until } from './faults.ts';
import { nextPort } from './port.ts';

const PROGRAM = '/usr/sbin/rsyslogd';
/** Lies in the folder of the machine's architecture. */
const DRIVER = new Bun.Glob('*/rsyslog/lmnsd_gtls.so');
export const hasRsyslog = (): boolean => existsSync(PROGRAM) && [...DRIVER.scanSync('/usr/lib')].length > 0;

/** What the server found in a message. */
export interface Logged {
  pri: string;
  time: string;
  host: string;
  app: string;
  kind: string;
  data: string;
  text: string;
}

export class SyslogService {
  readonly folder = newDataDir();
  readonly port = nextPort();
  #process: Bun.Subprocess;

  private constructor(name: string) {
    certify(this.folder, name);
    writeFileSync(join(this.folder, 'conf'), configuration(this.folder, this.port));
    this.#process = this.#spawn();
  }

  /** `name` is the host for which its certificate is. */
  static async start(name = 'localhost'): Promise<SyslogService> {
    const service = new SyslogService(name);
    await service.#listens();
    return service;
  }

  get caFile(): string {
    return join(this.folder, 'ca.pem');
  }

  /** The messages that it has written down, in order. */
  get logged(): Logged[] {
    const file = join(this.folder, 'messages');
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    return lines.map(line => {
      const [pri = '', time = '', host = '', app = '', kind = '', data = '', text = ''] =
        line.split('\u001f');
      return { pri, time, host, app, kind, data, text };
    });
  }

  pause(): void {
    this.#process.kill('SIGSTOP');
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#process.kill(signal);
    await this.#process.exited;
  }

  async startAgain(): Promise<void> {
    this.#process = this.#spawn();
    await this.#listens();
  }

  #spawn(): Bun.Subprocess {
    const files = ['-f', join(this.folder, 'conf'), '-i', join(this.folder, 'pid')];
    return Bun.spawn([PROGRAM, '-n', ...files], { stdout: 'ignore', stderr: 'ignore' });
  }

  #listens(): Promise<void> {
    const connected = () =>
      new Promise<boolean>(resolve => {
        const socket = connect(this.port, '127.0.0.1', () => resolve(true));
        socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
      });
    return until('rsyslogd listens', connected);
  }
}

function configuration(folder: string, port: number): string {
  const parts = [
    'pri',
    'timestamp:::date-rfc3339',
    'hostname',
    'app-name',
    'msgid',
    'structured-data',
    'msg',
  ];
  return `
global(workDirectory="${folder}" maxMessageSize="64k" defaultNetstreamDriver="gtls"
  parser.escapeControlCharactersOnReceive="off"
  defaultNetstreamDriverCAFile="${folder}/ca.pem" defaultNetstreamDriverCertFile="${folder}/cert.pem"
  defaultNetstreamDriverKeyFile="${folder}/key.pem")
module(load="imtcp" streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="anon")
template(name="parts" type="string" string="${parts.map(each => `%${each}%`).join('\u001f')}\\n")
ruleset(name="all") { action(type="omfile" file="${folder}/messages" template="parts" asyncWriting="off" flushOnTXEnd="on") }
input(type="imtcp" port="${port}" address="127.0.0.1" ruleset="all")
`;
}

/** An authority of its own, and a certificate that it issues for the name. */
function certify(folder: string, name: string): void {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  openssl('req', '-x509', ...key, '-keyout', 'ca-key.pem', '-out', 'ca.pem', '-subj', '/CN=test authority');
  const issued = ['-CA', 'ca.pem', '-CAkey', 'ca-key.pem', '-addext', `subjectAltName=DNS:${name}`];
  openssl(
    'req',
    '-x509',
    ...key,
    ...issued,
    '-keyout',
    'key.pem',
    '-out',
    'cert.pem',
    '-subj',
    `/CN=${name}`,
  );
}
