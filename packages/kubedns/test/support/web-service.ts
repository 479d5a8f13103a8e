import { Answers } from './answers.js';
import { type EndpointFields, serviceObject, sliceObject } from './objects.js';

/** The name of the service. */
export const WEB = 'web.default.svc.cluster.local';
/** A port of it. */
export const TCP = { name: 'http', port: 80, protocol: 'TCP' };

type ServiceFields = Parameters<typeof serviceObject>[0];
type SliceFields = Parameters<typeof sliceObject>[0];

/** What is answered about a cluster that has the service `web`. */
export class WebService {
  readonly answers: Answers;

  constructor(answers = new Answers()) {
    this.answers = answers;
  }

  /** Tells of the service and its slices. */
  given(service: ServiceFields, ...slices: SliceFields[]): void {
    const { services, endpointSlices } = this.answers.cluster;
    services.put(serviceObject(service));
    slices.forEach((fields, i) => {
      endpointSlices.put(sliceObject({ name: `web-${i}`, ...fields }));
    });
  }

  /** `TYPE data` of the records of a name, in alphabetical order. */
  at(owner: string): Promise<string[]> {
    return this.answers.records(owner);
  }

  async rcodeOf(name: string): Promise<string> {
    return (await this.answers.ask(name, 'A')).rcode;
  }
}

/** The fields of a slice with these endpoints. */
export const hosts = (...endpoints: EndpointFields[]) => ({ endpoints });
