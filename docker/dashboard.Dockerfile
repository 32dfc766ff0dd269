# The dashboard alone: reads studies, needs neither a GPU nor SGLang.
#   docker build -f docker/dashboard.Dockerfile -t autotune-dashboard .
#   docker run --rm -p 127.0.0.1:8760:8760 -v "$PWD/studies:/work/studies" autotune-dashboard
ARG PYTHON_TAG=3.12-slim
FROM python:${PYTHON_TAG}

# The same as in the runner's image: a study is written and read by one user.
ARG OWNER=1000:1000

COPY pyproject.toml README.md LICENSE /opt/autotune/source/
COPY autotune /opt/autotune/source/autotune
COPY trials /opt/autotune/source/trials
COPY db /opt/autotune/source/db
RUN pip install --no-cache-dir /opt/autotune/source \
    && rm -r /opt/autotune/source \
    && mkdir -p /work/studies \
    && chown -R "${OWNER}" /work

USER ${OWNER}
WORKDIR /work
EXPOSE 8760
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8760/healthz', timeout=4)"]
ENTRYPOINT ["autotune"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8760"]
