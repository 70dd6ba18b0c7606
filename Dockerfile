# Everything that `make book` and `make test` need, with torch for CPUs. JupyterLab:
#   docker build -t dicebook . && docker run --rm -it -p 8888:8888 dicebook
FROM python:3.11-slim-bookworm

# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends \
        chromium g++ git make \
    && rm -rf /var/lib/apt/lists/*

# Outside of the project, so that a checkout mounted over it does not hide it.
ENV VENV=/opt/venv
WORKDIR /dicebook
COPY requirements.lock ./
RUN python -m venv $VENV && $VENV/bin/pip install --no-cache-dir uv==0.13.9 \
    && VIRTUAL_ENV=$VENV $VENV/bin/uv pip install --no-cache --torch-backend cpu --requirement requirements.lock

COPY . .
RUN $VENV/bin/pip install --no-cache-dir --no-deps --editable . && touch $VENV/ready

EXPOSE 8888
# The README's two commands: docker run --rm dicebook make test
CMD ["/opt/venv/bin/jupyter", "lab", "--ip=0.0.0.0", "--allow-root", "--no-browser", "index.md"]
