// One stream of changes for all tabs of a browser: a shared worker, which every tab is told by. Browsers allow six connections a host.
"use strict";
const streams = new Map();

// Returns the stream at an address, with the tabs that listen to it.
function streamAt(address) {
    let stream = streams.get(address);
    if (!stream) {
        stream = { tabs: new Set(), source: null };
        streams.set(address, stream);
        open(address, stream);
    }
    return stream;
}

function open(address, stream) {
    const tell = (message) => stream.tabs.forEach((tab) => tab.postMessage(message));
    stream.source = new EventSource(address);
    stream.source.onopen = () => tell({ connected: true });
    stream.source.onmessage = (event) => tell({ change: JSON.parse(event.data) });
    stream.source.addEventListener("ended", () => tell({ connected: false }));
    stream.source.onerror = () => {
        tell({ connected: false });
        // A browser gives up after a refusal, so it is asked again here.
        if (stream.source.readyState === EventSource.CLOSED) {
            setTimeout(() => stream.tabs.size && open(address, stream), 2000);
        }
    };
}

onconnect = (event) => {
    const tab = event.ports[0];
    tab.onmessage = (message) => {
        const { listen, leave } = message.data;
        if (listen) {
            streamAt(listen).tabs.add(tab);
        }
        const stream = streams.get(leave);
        if (stream && stream.tabs.delete(tab) && stream.tabs.size === 0) {
            stream.source.close();
            streams.delete(leave);
        }
    };
};
